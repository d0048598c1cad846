"""about.json: what the page of a run shows first: the data it was trained on, and a few inputs to try.

The inputs are taken from the validation set. They leave the machine with the run; `train.keep_examples=0` keeps none.

keep(run, task, splits, 3)      # {"data": "pairs.tsv", "examples": 2900, "inputs": [["guten Tag"], …]}
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from regard.data.splits import Splits
from regard.files import write_whole
from regard.train.run import ABOUT, Run
from regard.train.task import Task
from regard.types import Example

__all__ = ["keep"]

SHORT, LONG = 200, 2_000  # characters of an input; the long are taken only where none is short


def keep(run: Run, task: Task, splits: Splits, count: int) -> Path:
    """Write the file anew: what an earlier sitting kept does not stay."""
    found = {
        "data": _named(run.config.get("data", {}).get("train", ""), task.default_data),
        "examples": len(splits.train),
        "inputs": [task.tried(example) for example in chosen(splits.valid, count)],
    }
    return write_whole(run.folder / ABOUT, json.dumps(found, ensure_ascii=False) + "\n")


def chosen(examples: Sequence[Example], count: int) -> list[Example]:
    """The first so many that are short, no two with the same target as long as there are other targets."""
    short = _within(examples, SHORT) or _within(examples, LONG)
    first = {one.target: one for one in reversed(short)}
    different = [one for one in short if first[one.target] is one]
    return [*different, *(one for one in short if first[one.target] is not one)][:count]


def _within(examples: Sequence[Example], most: int) -> list[Example]:
    return [
        one
        for one in examples
        if all(len(value) <= most or value.startswith(("data:image/", "data:audio/")) for value in one.inputs)
    ]


def _named(given: str, default: str) -> str:
    """The files without their folders, which are nobody's business; other sources as they are."""
    name = given or default
    if name.startswith(("builtin:", "hf:")):
        return name
    return ", ".join(os.path.basename(part.strip().rstrip("/")) for part in name.split(","))
