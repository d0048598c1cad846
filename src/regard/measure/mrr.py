"""Mean reciprocal rank: the mean of 1/r, r the rank of the right item among all candidates (the first is 1).

Items with equal scores: see `_ranks`.

    Mrr()(results)  →  {"mrr": 0.08}
"""

from typing import Literal

from regard.measure import Results
from regard.measure._ranks import expected, ranks_of

__all__ = ["Mrr"]


class Mrr:
    """Mean reciprocal rank of the held-out item among all items (MRR)."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"mrr": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return expected(ranks_of(results), lambda place, _: 1 / (place + 1.0))
