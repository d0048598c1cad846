"""Mean reciprocal rank: the mean of 1/rank of the first right answer in a list, and 0 where the list has none.

Voorhees 1999, "The TREC-8 Question Answering Track Report". The list is a prediction with its `others`; case does not
count.

    Mrr()(results)  →  {"mrr": 0.81}
"""

from typing import Literal

from regard.measure import Results

__all__ = ["Mrr"]


class Mrr:
    """Mean of 1/rank of the right answer."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"mrr": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        found = []
        for example, prediction in results.pairs():
            right = {one.casefold() for one in example.references}
            ranked = (one.text.casefold() for one in (prediction, *prediction.others))
            found.append(next((1 / rank for rank, text in enumerate(ranked, 1) if text in right), 0.0))
        return found
