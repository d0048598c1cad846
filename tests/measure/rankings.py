"""What the tests of ranking measures share."""

from regard.measure import Rank, Results
from regard.types import Example, Prediction


def results(*ranks: Rank) -> Results:
    return Results([Example(("a",), "b")] * len(ranks), [Prediction("b", None)] * len(ranks), ranks=ranks)


def three() -> Results:
    """Places 1, 3 and 11 among 21 items."""
    return results(Rank(0, 0, 20), Rank(2, 0, 20), Rank(10, 0, 20))
