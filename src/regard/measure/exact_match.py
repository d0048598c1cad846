"""Exact match: the share of predictions that are the target, character for character.

ExactMatch()(results)  →  {"exact_match": 0.93}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["ExactMatch"]


class ExactMatch:
    """Right or not, text by text."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs = results.pairs()
        return {"exact_match": sum(prediction.text == example.target for example, prediction in pairs) / len(pairs)}
