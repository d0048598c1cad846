"""Exact match: the share of predictions that are the target, or any of its references, character for character.

ExactMatch()(results)  →  {"exact_match": 0.93}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["ExactMatch"]


class ExactMatch:
    """Share of predictions identical to the target."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"exact_match": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return [float(prediction.text in example.references) for example, prediction in results.pairs()]
