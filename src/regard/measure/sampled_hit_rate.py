"""HR@k and NDCG@k against sampled negatives: the right item is ranked among 99 items drawn at random, not among all.

He et al. 2017 ("Neural Collaborative Filtering") and 2018 (NAIS) measure this way, with one draw for each user from the
items that the user has not had. Such figures are far higher than those of a full ranking, and models can change places
(Krichene & Rendle 2020, "On Sampled Metrics for Item Recommendation"): compare them only with each other.

Here nothing is drawn. With P items above the right one among N others, the number above it among m that are drawn
without putting any back is hypergeometric, so the figures are the means over all possible draws:

    HR@k = Σ_{x<k} P(X = x),    NDCG@k = Σ_{x<k} P(X = x) / log2(2 + x),    X ~ Hypergeometric(N, P, m)

    SampledHitRate(k=10, negatives=99)(results)  →  {"sampled_hit_rate": 0.67, "sampled_ndcg": 0.39}
"""

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.measure import Results
from regard.measure._ranks import Worth, expected, ranks_of
from regard.measure.ndcg import gain
from regard.ranges import Number, ranged

__all__ = ["SampledHitRate"]


class SampledHitRate:
    """HR@k and NDCG@k of the held-out item among 99 randomly drawn ones, the mean over all draws."""

    better: Literal["higher", "lower"] = "higher"

    @ranged
    def __init__(
        self,
        k: Annotated[Number, "length of the list"] = 10,
        negatives: Annotated[Number, "random items that the held-out one is ranked with"] = 99,
    ) -> None:
        self.k, self.negatives = k, negatives

    def _worth(self, gains: NDArray[Any]) -> Worth:
        """Of an item with x sampled ones above it `gains[x]`."""

        def worth(place: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[Any]:
            from scipy.stats import hypergeom  # slow to import

            drawn = np.minimum(self.negatives, others)
            chances = hypergeom.pmf(np.arange(len(gains))[:, None], np.maximum(others, 1), place, drawn)
            return gains @ chances  # type: ignore[no-any-return]

        return worth

    def __call__(self, results: Results) -> dict[str, float | str]:
        ranks, places = ranks_of(results), np.arange(self.k)
        figures = {"sampled_hit_rate": np.ones(self.k), "sampled_ndcg": gain(places, self.k)}
        return {name: float(np.mean(expected(ranks, self._worth(gains)))) for name, gains in figures.items()}

    def each(self, results: Results) -> list[float]:
        return expected(ranks_of(results), self._worth(np.ones(self.k)))
