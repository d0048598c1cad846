"""Pearson's r: how well predicted numbers follow the true ones on a straight line, −1 to 1.

`r = Σ (x_i − x̄)(y_i − ȳ) / √(Σ (x_i − x̄)² Σ (y_i − ȳ)²)`. Numbers that are all the same follow nothing: r is 0.

    Pearson()(results)  →  {"pearson": 0.87}
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.measure import Results

__all__ = ["Pearson", "numbers_of", "pearson"]


def numbers_of(results: Results) -> tuple[list[float], list[float]]:
    """Predicted and true numbers, read from their texts."""

    def read(text: str, what: str, where: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise RegardError(f"{where}: {what} {text!r}", expected="a number")
        return number

    pairs = [(e.where or f"example {n}", e, p) for n, (e, p) in enumerate(results.pairs(), 1)]
    predicted = [read(prediction.text, "prediction", where) for where, _, prediction in pairs]
    return predicted, [read(example.target, "target", where) for where, example, _ in pairs]


def pearson(x: list[float], y: list[float]) -> float:
    """The correlation of two rows of numbers; 0 where one of them is constant."""
    # Asked of the numbers themselves: less their mean, equal ones may be left with noise.
    if min(x) == max(x) or min(y) == max(y):
        return 0.0

    def unit(numbers: list[float]) -> NDArray[np.float64]:
        """Around the mean, and of length 1."""
        around = np.array(numbers) - np.mean(numbers)
        around = around / np.abs(around).max()  # so that no square is too large or too small for a float
        return np.asarray(around / np.linalg.norm(around))

    return float(np.clip(unit(x) @ unit(y), -1.0, 1.0))


class Pearson:
    """Pearson correlation of predicted and true numbers"""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        return {"pearson": pearson(*numbers_of(results))}
