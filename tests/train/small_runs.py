"""A training small enough to be run a hundred times: words for numbers → digits, with dropout, so that chance counts.

fit_in(folder, steps=20);  fit_in(folder, steps=20)  # the second goes on, if the first was stopped
everything(folder)                                   # what it came to, without its clock
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from generation_tasks import sides
from regard.data.splits import Splits
from regard.tasks.translate import Translate
from regard.train.checkpoint import KEPT
from regard.train.log import read
from regard.train.loop import Outcome, fit
from regard.train.progress import Progress
from regard.train.run import Run
from regard.types import Example

words = ("one", "two", "three", "four", "five", "six")
measures = ("perplexity", "exact_match", "token_accuracy")


def examples(count: int = 60, seed: int = 3) -> list[Example]:
    random, made = Random(seed), []
    for number in range(count):
        picked = [random.randrange(len(words)) for _ in range(random.randint(1, 3))]
        source, target = " ".join(words[i] for i in picked), "".join(str(i + 1) for i in picked)
        made.append(Example((source,), target, f"numbers.tsv:{number + 1}"))
    return made


def splits(seed: int = 3) -> Splits:
    made = examples(seed=seed)
    return Splits(made[:44], made[44:52], made[52:])


def small_task(**options: Any) -> Translate:
    small: dict[str, Any] = {
        **sides(dim=8, dropout=0.2),
        "encoder": {"name": "recurrent", "hidden": 8},
        "decoder": {"name": "recurrent", "embed": 8, "hidden": 16, "dropout": 0.2},
        "attention": {"score": {"name": "additive", "hidden": 8}},
        "search": "greedy",
        "metrics": measures,
        "best_metric": "perplexity",
    }
    return Translate(**{**small, **options})


def fit_in(
    folder: Path,
    change: Callable[[Translate], None] = lambda task: None,
    data: Splits | None = None,
    began: float | None = None,
    show: Any = None,
    **options: Any,
) -> Outcome:
    """Train as `api.train` does: begin in a folder, or go on with what is there. `change` may meddle with the task."""
    import torch

    data = data or splits()
    task = small_task()
    task.learn(data.train)
    change(task)
    torch.manual_seed(7)
    model = task.network()
    run = Run.open(folder) if Run.is_in(folder) else Run.create(folder, {"task": "translate"}, task.keep(), model)
    torch.seed()  # from here on the loop alone decides what chance there is
    small = {"batch_size": 8, "steps": 22, "validate_every": 5, "lr": 5e-3, "warmup": 4, "ema": 0.9, "device": "cpu"}
    return fit(task, data, run, model, show or Progress(True), began, **{**small, **options})


def newest(folder: Path) -> Path:
    """The newest moment; beside it there is at most the one before."""
    found = sorted((folder / "state").iterdir(), key=lambda path: int(path.name.removeprefix("step-")))
    assert len(found) <= KEPT
    return found[-1]


def place_of(folder: Path) -> dict[str, Any]:
    place: dict[str, Any] = json.loads((newest(folder) / "place.json").read_text())
    return place


def everything(folder: Path) -> dict[str, Any]:
    """What a run came to, bit for bit: all its tensors, its place and its validations; only the clock is left out."""
    tensors = [folder / "model.safetensors", *sorted(newest(folder).glob("*.safetensors"))]
    found: dict[str, Any] = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in tensors}
    assert len(found) == 5
    found["place"] = {key: value for key, value in place_of(folder).items() if key != "spent"}
    events = read(folder / "log.jsonl")
    found["log"] = [{k: v for k, v in one.items() if k != "seconds" and "_per_second" not in k} for one in events]
    return found
