"""NDCG at k, with one right item a user: `1 / log2(1 + r)` for an item at rank r ≤ k (the first is 1), else 0.

Järvelin & Kekäläinen 2002; the ideal list has the item at rank 1, so its gain is 1. Ranks are among all candidates.
Items with equal scores: see `_ranks`.

    Ndcg(k=10)(results)  →  {"ndcg": 0.1}
"""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.measure import Results
from regard.measure._ranks import expected, ranks_of
from regard.ranges import Number, ranged

__all__ = ["Ndcg", "gain"]


def gain(place: NDArray[np.int64], k: int) -> NDArray[Any]:
    """What an item at a place is worth, the first being 0."""
    return np.where(place < k, 1 / np.log2(place + 2.0), 0.0)


class Ndcg:
    """Normalised discounted cumulative gain of the held-out item in the first k of all items (NDCG@k)."""

    better: Literal["higher", "lower"] = "higher"

    @ranged
    def __init__(self, k: Annotated[Number, "length of the list"] = 10) -> None:
        self.k = k

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"ndcg": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return expected(ranks_of(results), lambda place, _: gain(place, self.k))
