"""What the tests of sentence tasks share: a few examples of each, and tasks small enough to be made often."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard import api
from regard.errors import RegardError
from regard.find import find
from regard.tasks._reader import Read, Reader
from regard.types import Batch, Example, Memory, Sequences

small: dict[str, Any] = {
    "text": "word",
    "embed": {"dim": 6},
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


def task_of(name: str, **options: Any) -> Any:
    """The task, with the words of its examples."""
    sizes = {**small, "head": {}} if name == "tag" else small
    made = find("tasks", name)(**{**sizes, **options})
    made.learn(examples[name])
    return made


def both(name: str, **options: Any) -> tuple[Any, Reader]:
    """The task and a model that is sharper than at the start of training, so that answers differ."""
    torch.manual_seed(3)
    task = task_of(name, **options)
    model: Reader = task.model().eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if not key.startswith("encoder.policies"):
                parameter *= 3
    return task, model


def batch_of(task: Any, some: list[Example]) -> Batch:
    found: Batch = task.collate(task.items(some))
    return found


def file_of(name: str, folder: Path, lines: list[str] | None = None) -> Path:
    """The examples as a file of lines, or others."""
    path = folder / f"{name}.tsv"
    rows = lines or ["\t".join([*example.inputs, example.target]) for example in examples[name]]
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def read_of(logits: list[list[float]]) -> Read:
    """What a network would give that answers so."""
    nothing = torch.zeros(1, 1, 1)
    sequences = Sequences.pad([[4]] * len(logits))
    return Read(torch.tensor(logits), Memory(nothing, nothing), None, sequences)


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
