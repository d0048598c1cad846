"""Mean squared error: `1/n Σ (x_i − y_i)²` of predicted and true numbers.

Mse()(results)  →  {"mse": 0.26}
"""

from typing import Literal

from regard.measure import Results
from regard.measure.pearson import numbers_of

__all__ = ["Mse"]


class Mse:
    """The mean of the squared differences"""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        predicted, true = numbers_of(results)
        return {"mse": sum((x - y) * (x - y) for x, y in zip(predicted, true, strict=True)) / len(true)}
