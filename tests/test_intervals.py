"""Intervals by hand, and beside scipy.stats, which the library does not import because it is slow to load."""

import pytest
from scipy import stats

from regard.intervals import Estimate, difference, mean, paired


def test_a_mean_by_hand() -> None:
    """Of 0.8, 0.9: s = 0.0707, s/√2 = 0.05, and t of one degree of freedom is 12.706."""
    found = mean([0.8, 0.9])
    assert found.value == pytest.approx(0.85)
    assert found.margin == pytest.approx(12.7062 * 0.05, rel=1e-4)
    assert (found.low, found.high) == (pytest.approx(0.85 - 0.63531, rel=1e-3), pytest.approx(0.85 + 0.63531))


def test_one_value_has_no_interval() -> None:
    assert mean([0.5]) == Estimate(0.5)
    assert mean([0.5]).margin is None
    assert not mean([0.5]).clear
    assert difference([0.5, 0.6], [0.25]).low is None


def test_a_difference_is_welchs() -> None:
    a, b = [0.81, 0.86, 0.84], [0.70, 0.79, 0.71, 0.60]
    found, known = difference(a, b), stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert (found.low, found.high) == (pytest.approx(known.low), pytest.approx(known.high))
    assert found.clear == (known.low > 0)


def test_values_that_never_vary() -> None:
    assert difference([0.5, 0.5], [0.25, 0.25]) == Estimate(0.25, 0.25, 0.25)
    assert difference([0.5, 0.5], [0.25, 0.25]).clear
    assert not difference([0.5, 0.5], [0.5, 0.5]).clear


def test_pairs_are_of_the_same_example() -> None:
    """Two models that differ by 0.1 on every example, which vary far more than that."""
    a, b = [0.1, 0.55, 0.9, 0.4], [0.0, 0.46, 0.8, 0.29]
    known = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (paired(a, b).low, paired(a, b).high) == (pytest.approx(known.low), pytest.approx(known.high))
    assert paired(a, b).clear
    assert not difference(a, b).clear
