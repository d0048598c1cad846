"""95 % intervals of means and of differences between means, by Student's t distribution.

    mean([0.84, 0.86, 0.85])                    # Estimate(value=0.85, low=0.825, high=0.875)
    difference([0.84, 0.86], [0.70, 0.75])      # Welch 1947: two samples with variances of their own
    paired([1, 0, 1, 1], [0, 0, 1, 0])          # the same examples, answered by two models

A difference is clear if its interval does not contain 0. One value has no interval.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["LEVEL", "Estimate", "difference", "mean", "paired"]

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """An estimate with its 95 % interval; without bounds where there is nothing to estimate them from."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def margin(self) -> float | None:
        """Half of the interval's width."""
        return None if self.high is None else self.high - self.value

    @property
    def clear(self) -> bool:
        """Whether 0 is outside the interval."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def mean(values: Sequence[float]) -> Estimate:
    """`x̄ ± t · s / √n`, with n − 1 degrees of freedom."""
    if len(values) < 2:
        return Estimate(statistics.fmean(values))
    return _around(statistics.fmean(values), statistics.variance(values) / len(values), float(len(values) - 1))


def difference(a: Sequence[float], b: Sequence[float]) -> Estimate:
    """Mean of `a` less mean of `b`, by Welch's t: the two may vary differently."""
    value = statistics.fmean(a) - statistics.fmean(b)
    if min(len(a), len(b)) < 2:
        return Estimate(value)
    parts = [statistics.variance(one) / len(one) for one in (a, b)]
    total = sum(parts)
    if not total:
        return Estimate(value, value, value)
    freedom = total**2 / sum(part**2 / (len(one) - 1) for part, one in zip(parts, (a, b), strict=True))
    return _around(value, total, freedom)


def paired(a: Sequence[float], b: Sequence[float]) -> Estimate:
    """Mean difference of two scores of each example."""
    return mean([x - y for x, y in zip(a, b, strict=True)])


def _around(value: float, variance: float, freedom: float) -> Estimate:
    """`variance` is that of the estimate, not of the values."""
    from scipy.special import stdtrit  # the quantile of Student's t; scipy.stats takes long to import

    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(variance)
    return Estimate(value, value - half, value + half)
