"""Hit rate at k (HR@k): the share of users whose item is among the first k of all candidates.

With one item held out for each user it is also the recall at k. Items with equal scores: see `_ranks`.

    HitRate(k=10)(results)  →  {"hit_rate": 0.18}
"""

from typing import Annotated, Literal

from regard.measure import Results
from regard.measure._ranks import expected, ranks_of
from regard.ranges import Number, ranged

__all__ = ["HitRate"]


class HitRate:
    """Share of users whose held-out item is among the first k recommendations, out of all items (HR@k)."""

    better: Literal["higher", "lower"] = "higher"

    @ranged
    def __init__(self, k: Annotated[Number, "length of the list"] = 10) -> None:
        self.k = k

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"hit_rate": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return expected(ranks_of(results), lambda place, _: place < self.k)
