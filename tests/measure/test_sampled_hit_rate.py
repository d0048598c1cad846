"""Sampled negatives: the mean of every possible sample."""

from itertools import combinations
from math import log2

import pytest
from rankings import results

from regard.measure import Rank
from regard.measure.sampled_hit_rate import SampledHitRate


@pytest.mark.parametrize("above", range(7))
def test_sampled_negatives_are_the_mean_of_all_samples(above: int) -> None:
    """Six others, of which `above` are better; three of them are drawn, and the first two places count."""
    hits, gains = [], []
    for sample in combinations(range(6), 3):
        place = sum(one < above for one in sample)
        hits.append(float(place < 2))
        gains.append(1 / log2(2 + place) if place < 2 else 0.0)
    found = SampledHitRate(k=2, negatives=3)(results(Rank(above, 0, 6)))
    assert found["sampled_hit_rate"] == pytest.approx(sum(hits) / len(hits))
    assert found["sampled_ndcg"] == pytest.approx(sum(gains) / len(gains))


def test_sampled_negatives_with_ties_and_with_few_others() -> None:
    measure = SampledHitRate(k=2, negatives=3)
    alone = [measure.each(results(Rank(above, 0, 6)))[0] for above in (1, 2, 3)]
    assert measure.each(results(Rank(1, 2, 6))) == [pytest.approx(sum(alone) / 3)]
    assert measure.each(results(Rank(1, 0, 2), Rank(2, 0, 2))) == [1.0, 0.0]  # fewer than three: all of them
    assert measure.each(results(Rank(0, 0, 0))) == [1.0]
