"""Agreement of judges beyond chance, and intervals of means.

Krippendorff's alpha, for any number of judges, of whom some may have left some units out (Krippendorff 2011,
"Computing Krippendorff's Alpha-Reliability", section D):

    α = 1 − D_o / D_e = 1 − (n − 1) Σ_{c<k} o_ck δ²_ck / Σ_{c<k} n_c n_k δ²_ck

o_ck counts the pairs of values c, k within units, each unit of m values normalizer 1/(m − 1); n_c = Σ_k o_ck and
n = Σ_c n_c. δ² is 1 for nominal values, (c − k)² for interval ones, (Σ_{g=c}^{k} n_g − (n_c + n_k)/2)² for ordinal.

Cohen's kappa, for two judges (Cohen 1960): κ = (p_o − p_e) / (1 − p_e), with p_o the share of units on which they
agree and p_e = Σ_c p_1(c) p_2(c). Both are None where they are not defined: nothing to compare, or a single value.

    alpha([[1, 1], [2, 3], [4]], "ordinal")      kappa([("a", "a"), ("a", "b")])
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal

__all__ = ["Metric", "alpha", "interval", "kappa"]

Metric = Literal["nominal", "ordinal", "interval"]


def alpha(units: Iterable[Sequence[int]], metric: Metric = "ordinal") -> float | None:
    """Agreement over units, each given as the values its judges gave it; those with fewer than two say nothing."""
    o: defaultdict[tuple[int, int], float] = defaultdict(float)
    for values in units:
        counts, m = Counter(values), len(values)
        for c in counts:
            for k in counts if m > 1 else ():
                o[c, k] += counts[c] * (counts[k] - (c == k)) / (m - 1)
    n_of: defaultdict[int, float] = defaultdict(float)
    for (c, _), pairs in o.items():
        n_of[c] += pairs
    values, n = sorted(n_of), sum(n_of.values())

    def square(c: int, k: int) -> float:
        if metric == "nominal":
            return 1.0
        if metric == "interval":
            return float(c - k) ** 2
        return (sum(n_of[g] for g in values if c <= g <= k) - (n_of[c] + n_of[k]) / 2) ** 2

    apart = [(c, k, square(c, k)) for c in values for k in values if c < k]
    expected = sum(n_of[c] * n_of[k] * δ2 for c, k, δ2 in apart)
    if not expected:
        return None
    return 1.0 - (n - 1) * sum(o[c, k] * δ2 for c, k, δ2 in apart) / expected


def kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Agreement of two judges over the units both have judged."""
    n = len(pairs)
    first, second = Counter(one for one, _ in pairs), Counter(two for _, two in pairs)
    both = sum(first[c] * second[c] for c in first)  # n² p_e, in whole numbers
    if both == n * n:  # no units, or both always said the same one thing
        return None
    agreed = sum(one == two for one, two in pairs)
    return (agreed * n - both) / (n * n - both)


def interval(
    groups: Sequence[Sequence[float]], level: float = 0.95, draws: int = 2000, seed: int = 0
) -> tuple[float, float] | None:
    """Bootstrap interval of the mean of all values, by percentiles; None where there is but one group.

    Groups are drawn whole, with replacement: marks of one source line, by whomever, are not independent of each other.
    """
    import numpy as np

    sums = np.array([sum(group) for group in groups if group], dtype=np.float64)
    sizes = np.array([len(group) for group in groups if group], dtype=np.float64)
    if len(sums) < 2:
        return None
    random = np.random.default_rng(seed)
    means = np.empty(draws)
    for i in range(draws):  # a draw at a time: all at once would need draws × groups of memory
        drawn = random.integers(len(sums), size=len(sums))
        means[i] = sums[drawn].sum() / sizes[drawn].sum()
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
