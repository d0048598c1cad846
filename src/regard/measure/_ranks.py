"""The value of a ranking, from the position of each target among the candidates.

A model may give several items the same score. Any order of equals would be as right as another, so a measure is the
mean over all of them: with a items above the target and e others at its score, the target is at each of the places
a, a + 1, …, a + e with the same chance.

    expected([Rank(above=3, equal=1, others=9)], lambda place, others: place < 4)      # [0.5]
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.measure import Rank, Results

__all__ = ["expected", "ranks_of"]

Worth = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[Any]]
"""What a target at each place is worth (0 is the first), among so many others."""


def ranks_of(results: Results) -> Sequence[Rank]:
    """The ranks; there must be one for each example."""
    if len(results.ranks) != len(results.examples) or not results.ranks:
        raise RegardError(
            f"{len(results.ranks):,} ranks for {len(results.examples):,} examples",
            expected="a rank for each example, as the task recommend gives it",
        )
    return results.ranks


def expected(ranks: Sequence[Rank], worth: Worth) -> list[float]:
    """The mean worth of each, over all orders of equals; nothing where the target is missing."""
    above, equal, others = (
        np.array([getattr(one, name) for one in ranks], dtype=np.int64) for name in ("above", "equal", "others")
    )
    found = np.asarray(worth(above, others), dtype=np.float64)
    for row in equal.nonzero()[0]:
        places = np.arange(above[row], above[row] + equal[row] + 1)
        found[row] = np.asarray(worth(places, np.full_like(places, others[row])), dtype=np.float64).mean()
    found[[one.missing for one in ranks]] = 0.0
    return found.tolist()  # type: ignore[no-any-return]
