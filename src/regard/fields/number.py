"""Number: a score on a scale.

field = Number(low=1, high=5);  field.encode(["3.5"], ["pairs.tsv:1"])
"""

import math
import re
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.fields import Field, Where

__all__ = ["Number"]

decimal_comma = re.compile(r"[+-]?[0-9]+,([0-9]{1,2}|[0-9]{4,})")  # three digits after it may be thousands


class Number(Field):
    """A number to predict, from `low` to `high`."""

    kind: ClassVar[str] = "number"
    headers: ClassVar[tuple[str, ...]] = (
        *("score", "relatedness_score", "similarity", "similarity_score", "relatedness", "label", "gold"),
        *("rating", "target", "value"),
    )

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.names = [str(step) for step in range(low, high + 1)]  # the whole steps of the scale

    def encode(self, values: Sequence[str], where: Where, role: str = "score") -> list[list[float]]:
        return [[self._number(value, at)] for value, at in zip(values, where, strict=True)]

    def fit(self, values: Sequence[str]) -> None:
        if len({float(value) for value in values if self.takes(value)}) == 1:
            raise RegardError(f"every score is {values[0]}", expected="at least two different scores")

    def tidied(self, value: str) -> str:
        """With a decimal point, as spreadsheets of many countries have a comma."""
        return value.replace(",", ".") if decimal_comma.fullmatch(value.strip()) else value

    def takes(self, value: str) -> bool:
        try:
            return math.isfinite(float(self.tidied(value)))
        except ValueError:
            return False

    def _number(self, value: str, where: str) -> float:
        try:
            score = float(value)
        except ValueError:
            score = math.nan
        if not self.low <= score <= self.high:
            raise RegardError(
                f"{where}: score {value!r}",
                expected=f"a number from {self.low} to {self.high}",
                do="set head.low and head.high for another scale",
            )
        return score

    def number(self, value: str) -> float:
        return float(value)

    def collate(self, rows: Sequence[Sequence[float]]) -> Tensor:
        return torch.tensor([row[0] for row in rows])

    def doubts(self, train: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
        mean = sum(map(float, train)) / max(1, len(train))
        error = sum((float(true) - float(said)) ** 2 for true, said in pairs) / len(pairs)
        always = sum((float(true) - mean) ** 2 for true, _ in pairs) / len(pairs)
        if error < always or always == 0:
            return []
        return [f"mean squared error {error:.3g}; always predicting the mean gives {always:.3g}"]
