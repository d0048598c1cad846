"""What the tests of sentence tasks share: a few examples of each, and tasks small enough to be made often."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard import api
from regard.errors import RegardError
from regard.fields.embed.words import Words
from regard.find import build, find
from regard.networks.reader import Reader
from regard.predict.classify import ClassifyHead
from regard.predict.match.difference import Difference
from regard.predict.tag import TagHead
from regard.types import Batch, Example

small: dict[str, Any] = {
    "input": {"name": "text", "tokenizer": "word", "embed": {"dim": 6}},
    "encoder": {"name": "bigru", "hidden": 4},
    "head": {"hidden": 5},
    "dropout": 0.0,
}
pairs = [
    *(("a dog runs", "an animal runs", "yes", "4.2"), ("a cat sleeps on the mat", "a dog runs", "no", "1")),
    *(("the dog", "no dog", "no", "2.5"), ("a man eats", "a man eats fish", "maybe", "3.75")),
    *(("cats run", "dogs", "maybe", "5"), ("the old man sleeps", "a man sleeps", "yes", "4.5")),
]
examples = {
    "classify": [Example((a,), label, f"c.tsv:{n}") for n, (a, _, label, _) in enumerate(pairs, 1)],
    "entail": [Example((a, b), label, f"e.tsv:{n}") for n, (a, b, label, _) in enumerate(pairs, 1)],
    "relate": [Example((a, b), score, f"r.tsv:{n}") for n, (a, b, _, score) in enumerate(pairs, 1)],
    "tag": [
        Example((a,), " ".join("D" if word in ("a", "the") else word[-1].upper() for word in a.split()), f"t.tsv:{n}")
        for n, (a, *_) in enumerate(pairs, 1)
    ],
}


def new_task(name: str, **options: Any) -> Any:
    sizes = {**small, "head": {}} if name == "tag" else small
    return find("tasks", name)(**{**sizes, **options})


def task_of(name: str, **options: Any) -> Any:
    """The task, with the words of its examples."""
    made = new_task(name, **options)
    made.learn(examples[name])
    return made


def both(name: str, **options: Any) -> tuple[Any, Reader]:
    """The task and a model that is sharper than at the start of training, so that answers differ."""
    torch.manual_seed(3)
    task = task_of(name, **options)
    model: Reader = task.network().eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if not key.startswith("encoder.policies"):
                parameter *= 3
    return task, model


first, second = [[5, 6, 7], [4], [8, 5]], [[6], [7, 8, 4, 5, 5], [4, 4]]  # tokens of three pairs


def reader(encoder: str = "bigru", pool: str | None = "attention", pair: bool = True, dropout: float = 0.0) -> Reader:
    """A network without a task, for those tokens."""
    part = build("encode", {"name": encoder, "hidden": 3}, inputs=4)
    pooling = None if pool is None else build("pool", pool, inputs=part.size, summary=part.summary)
    match = Difference(pooling.size) if pooling is not None and pair else None
    size = part.size if pooling is None else pooling.size
    head = TagHead(size, labels=2) if pooling is None else ClassifyHead(size * (4 if pair else 1), labels=2, hidden=5)
    return Reader(Words(vocab=9, found=0, dim=4), part, pooling, match, head, None, dropout).eval()


def batch_of(task: Any, some: list[Example]) -> Batch:
    found: Batch = task.collate(task.items(some))
    return found


def file_of(name: str, folder: Path, lines: list[str] | None = None) -> Path:
    """The examples as a file of lines, or others."""
    path = folder / f"{name}.tsv"
    rows = lines or ["\t".join([*example.inputs, example.target]) for example in examples[name]]
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def prepared(task: str, folder: Path, lines: list[str], valid: list[str] | None = None) -> Any:
    """The task with its data from files, as before a training."""
    data = {"train": str(file_of(task, folder, lines))}
    if valid is not None:
        data["valid"] = str(file_of(f"valid-{task}", folder, valid))
    return api.prepare(task, {"data": data, **{key: value for key, value in small.items() if key != "head"}})


def refused(task: str, folder: Path, lines: list[str], valid: list[str] | None = None) -> str:
    """The one line that is said, without the folder."""
    with pytest.raises(RegardError) as caught:
        prepared(task, folder, lines, valid)
    said = str(caught.value)
    assert "\n" not in said
    return said.replace(f"{folder}/", "")
