"""Cloze accuracy: the share of questions answered with the right word, ignoring case.

ClozeAccuracy()(results)  →  {"cloze_accuracy": 0.72}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["ClozeAccuracy"]


class ClozeAccuracy:
    """Share of questions answered with the right word, ignoring case."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"cloze_accuracy": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return [
            float(prediction.text.casefold() in {one.casefold() for one in example.references})
            for example, prediction in results.pairs()
        ]
