"""Accuracy: the share of predictions whose text is the target's, label for label.

Accuracy()(results)  →  {"accuracy": 0.86}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Accuracy"]


class Accuracy:
    """Right or not, example by example."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs = results.pairs()
        return {"accuracy": sum(prediction.text == example.target for example, prediction in pairs) / len(pairs)}
