"""Measures of a ranking: ties against every order of equals."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, permutations
from math import log2

import pytest
from rankings import results

from regard.errors import RegardError
from regard.measure import Rank, Results
from regard.measure._ranks import expected
from regard.measure.hit_rate import HitRate
from regard.measure.mrr import Mrr
from regard.measure.ndcg import Ndcg
from regard.measure.sampled_hit_rate import SampledHitRate
from regard.types import Example, Prediction


def orders(scores: Sequence[float], target: int) -> Iterator[int]:
    """The place of the target in every right order: by falling score, equals in any order."""
    for order in permutations(range(len(scores))):
        if all(scores[a] >= scores[b] for a, b in pairwise(order)):
            yield order.index(target)


def rank(scores: Sequence[float], target: int) -> Rank:
    above = sum(one > scores[target] for one in scores)
    equal = sum(one == scores[target] for one in scores) - 1
    return Rank(above, equal, len(scores) - 1)


@pytest.mark.parametrize("scores", [(3.0, 1.0, 1.0, 1.0, 0.0), (2.0, 2.0, 2.0, 2.0, 2.0), (1.0, 0.0, 5.0, 4.0, 1.0)])
def test_ties_are_the_mean_of_all_orders(scores: tuple[float, ...]) -> None:
    for target in range(len(scores)):
        places = list(orders(scores, target))
        found = results(rank(scores, target))
        for measure, worth in (
            (HitRate(k=2), lambda place: float(place < 2)),
            (Ndcg(k=3), lambda place: 1 / log2(2 + place) if place < 3 else 0.0),
            (Mrr(), lambda place: 1 / (1 + place)),
        ):
            assert measure.each(found) == [pytest.approx(sum(map(worth, places)) / len(places))]


def test_an_item_that_cannot_be_recommended_is_a_miss() -> None:
    found = results(Rank(2, 0, 2, missing=True))
    assert HitRate()(found)["hit_rate"] == Mrr()(found)["mrr"] == SampledHitRate()(found)["sampled_hit_rate"] == 0.0


def test_expected_places() -> None:
    assert expected([Rank(3, 1, 9)], lambda place, others: place < 4) == [0.5]
    assert expected([], lambda place, others: place) == []


def test_without_ranks() -> None:
    with pytest.raises(RegardError, match="0 ranks for 1 examples; expected a rank for each example"):
        HitRate()(Results([Example(("a",), "b")], [Prediction("b", None)]))
