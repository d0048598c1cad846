"""Agreement: Krippendorff's own example, numbers worked by hand, and the definition written out pair by pair."""

from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve.agreement import Metric, alpha, interval, kappa

# Krippendorff 2011, section C: four observers, twelve units, a dot where nothing was said.
observers = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
example = [[int(v) for v in unit if v != "."] for unit in zip(*map(str.split, observers), strict=True)]


@pytest.mark.parametrize(("metric", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorffs_own_example(metric: Metric, expected: float) -> None:
    assert alpha(example, metric) == pytest.approx(expected, abs=5e-4)


def test_alpha_by_hand() -> None:
    """Two judges, values 1 1, 1 2, 2 2: o_12 = 1, n_1 = n_2 = 3, n = 6; α = 1 − 5 · 1 / 9."""
    assert alpha([[1, 1], [1, 2], [2, 2]], "nominal") == pytest.approx(4 / 9)


def by_pairs(units: list[list[int]], metric: Metric) -> float | None:
    """Observed over expected disagreement, over all pairs of values."""
    paired = [unit for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    n, often = len(values), Counter(values)

    def square(c: int, k: int) -> float:
        low, high = min(c, k), max(c, k)
        between = sum(often[g] for g in range(low, high + 1)) - (often[low] + often[high]) / 2
        return {"nominal": float(c != k), "interval": float((c - k) ** 2), "ordinal": between**2 * (c != k)}[metric]

    expected = sum(square(*pair) for pair in permutations(values, 2))
    if not expected:
        return None
    observed = sum(square(*pair) / (len(unit) - 1) for unit in paired for pair in permutations(unit, 2))
    return 1 - (observed / n) / (expected / (n * (n - 1)))


@given(
    st.lists(st.lists(st.integers(1, 5), max_size=4), max_size=8), st.sampled_from(["nominal", "ordinal", "interval"])
)
def test_alpha_is_its_definition(units: list[list[int]], metric: Metric) -> None:
    expected = by_pairs(units, metric)
    found = alpha(units, metric)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-9)


def test_where_alpha_says_nothing() -> None:
    assert alpha([]) is None
    assert alpha([[1], [2]]) is None  # nobody judged what another judged
    assert alpha([[3, 3], [3, 3, 3]]) is None  # one value: chance would agree as well
    assert alpha([[1, 1], [5, 5]]) == 1.0


def test_kappa_by_hand() -> None:
    """20 both yes, 15 both no, 5 and 10 apart: p_o = 0.7, p_e = 0.5 · 0.6 + 0.5 · 0.4 = 0.5, κ = 0.4."""
    pairs = [("yes", "yes")] * 20 + [("yes", "no")] * 5 + [("no", "yes")] * 10 + [("no", "no")] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([(1, 1), (2, 2)]) == 1.0
    assert kappa([(1, 2), (2, 1)]) == -1.0
    assert kappa([(1, 2), (1, 2)]) == 0.0


def test_where_kappa_says_nothing() -> None:
    assert kappa([]) is None
    assert kappa([(4, 4), (4, 4)]) is None


def test_an_interval_by_hand() -> None:
    """Two lines with 1 and 3 have means 1, 2, 3 in one, two and one of four draws."""
    assert interval([[1.0], [3.0]]) == (1.0, 3.0)
    assert interval([[1.0], [3.0]], level=0.4) == (2.0, 2.0)
    assert interval([[2.0, 4.0]]) is None
    assert interval([]) is None
    assert interval([[2.0], [], []]) is None


def test_an_interval_draws_lines_whole() -> None:
    """Against all 4⁴ draws of four lines of different size."""
    groups = [[1.0, 2.0, 1.0], [5.0], [4.0, 4.0], [3.0, 5.0]]
    means = [np.mean([value for i in drawn for value in groups[i]]) for drawn in product(range(4), repeat=4)]
    found = interval(groups, draws=20_000)
    assert found == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.15)
    assert found == interval(groups, draws=20_000)  # the same each time
