"""Mean squared error: `1/n Σ (x_i − y_i)²` of predicted and true numbers.

Mse()(results)  →  {"mse": 0.26}
"""

from typing import Literal

from regard.measure import Results
from regard.measure.pearson import numbers_of

__all__ = ["Mse"]


class Mse:
    """Mean squared error of the predicted numbers"""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"mse": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return [(x - y) * (x - y) for x, y in zip(*numbers_of(results), strict=True)]
