"""Spearman's ρ: how well predicted numbers keep the order of the true ones, −1 to 1.

Pearson's r of the ranks; equal numbers share the mean of their ranks. Numbers that are all the same give 0.

    Spearman()(results)  →  {"spearman": 0.81}
"""

from typing import Literal

import numpy as np

from regard.measure import Results
from regard.measure.pearson import numbers_of, pearson

__all__ = ["Spearman", "ranks"]


def ranks(numbers: list[float]) -> list[float]:
    """The place of each in their order, from 1; those that are equal share the mean of their places."""
    _, which, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return [float(rank) for rank in (last - (counts - 1) / 2)[which]]


class Spearman:
    """The correlation of the ranks"""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        predicted, true = numbers_of(results)
        return {"spearman": pearson(ranks(predicted), ranks(true))}
