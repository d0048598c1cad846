"""Accuracy: the share of predictions whose text is the target's, label for label.

Accuracy()(results)  →  {"accuracy": 0.86}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Accuracy"]


class Accuracy:
    """Share of examples whose predicted label is correct."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"accuracy": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return [float(prediction.text == example.target) for example, prediction in results.pairs()]
