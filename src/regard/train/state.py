"""The state of a training: with the tensors in `state/`, everything needed to resume."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from regard.data.corpus import Corpus
from regard.types import Example

__all__ = ["TrainState", "digest"]


@dataclass
class TrainState:
    """The mutable state of the loop, saved as JSON."""

    data: str  # a digest of the training examples: going on with others would not be going on
    steps: int  # the plan: what is wanted, or what of it the time allows
    wanted: int = 0
    limit: float = math.inf  # seconds
    step: int = 0
    epoch: int = 0
    batch: int = 0  # the batches of the next step of this epoch
    best: float = math.nan
    since: int = 0  # validations since the best one
    ready: bool = False  # whether the best is one of the model as it will be used
    spent: float = 0.0  # seconds, all sittings together
    before: float = 0.0  # of these, seconds before the present time limit was given
    checked: int = 0  # examples of a validation, where the time limit allows only so many
    processes: int = 1
    threads: int = 0  # of PyTorch, where they were chosen by trying
    tokens: int = 0  # target tokens, all together
    loss_sum: float = 0.0  # since the last validation, for the log
    loss_count: int = 0
    finished: bool = False

    @staticmethod
    def read(table: Any) -> "TrainState":
        """The state from JSON; ValueError if it is invalid."""
        if not isinstance(table, dict):
            raise ValueError("it holds no table")
        known = {field.name: field for field in fields(TrainState)}
        if unknown := table.keys() - known.keys():
            raise ValueError(f"unknown key {min(unknown)!r:.50}")
        for name, field in known.items():
            if name in table:
                _check(name, table[name], field.type)
            elif field.default is MISSING:
                raise ValueError(f"{name} is missing")
        return TrainState(**table)


def _check(name: str, value: Any, kind: Any) -> None:
    fits = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if fits and kind is int:
        fits = (name == "steps") <= value < 2**53
    if fits and kind is float and name in ("spent", "before", "limit"):
        fits = value >= 0 and (value < 2**53 or value == math.inf)
    if not fits:
        raise ValueError(f"{name} is {str(value)[:50]!r}")


def digest(examples: Sequence[Example]) -> str:
    """A hash of these examples in this order."""
    if isinstance(examples, Corpus):
        return examples.digest
    total = hashlib.blake2b(digest_size=16)
    for example in examples:
        total.update(b"%d " % len(example.inputs))
        for text in (*example.inputs, example.target):
            data = text.encode("utf-8", "surrogatepass")
            total.update(b"%d " % len(data) + data)  # its length first: no text can pass for two
    return total.hexdigest()
