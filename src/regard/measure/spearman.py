"""Spearman's ρ: how well predicted numbers keep the order of the true ones, −1 to 1.

Pearson's r of the ranks; equal numbers share the mean of their ranks. Numbers that are all the same give 0.

    Spearman()(results)  →  {"spearman": 0.81}
"""

from typing import Literal

from regard.measure import Results
from regard.measure.pearson import numbers_of

__all__ = ["Spearman"]


class Spearman:
    """Spearman's rank correlation of predicted and true numbers"""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        from scipy.stats import spearmanr  # slow to import

        predicted, true = numbers_of(results)
        constant = min(predicted) == max(predicted) or min(true) == max(true)
        return {"spearman": 0.0 if constant else float(spearmanr(predicted, true).statistic)}
