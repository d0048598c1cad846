"""Timing: whether attention over a recording is where each letter is heard, for data whose `grounding` names the times.

The model reads the true texts (`Results.read`). For each token with a known interval B and the weights α over the
intervals b_i:

    timing         whether the middle of the interval with the highest weight lies in B, or less than 0.1 s beside it
    timing_mass    Σ_i α_i |b_i ∩ B'| / |b_i|, B' being B and 0.1 s on either side: the weight that lies there

and the mean of each over all tokens. `timing_chance` is the mean share of the recording that B' is, what weights that
are equal everywhere would get. An encoder that reads in both directions may keep a letter a little beside its sound;
so 0.1 s are allowed. Several heads are averaged first.

    Timing()(results)  →  {"timing": 0.97, "timing_mass": 0.93, "timing_chance": 0.11}
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from regard.measure import Results
from regard.measure.alignment import overlaps
from regard.regions import Interval, Token
from regard.types import Grounding

__all__ = ["BESIDE", "Timing"]

BESIDE = 0.1  # seconds


class Timing:
    """Share of letters whose highest attention weight is within the time in which they are heard."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs = zip(results.examples, results.read, strict=False)
        scored = [one for example, read in pairs for one in _scored(read.look, example.grounding)]
        if not scored:
            return {}
        names = ("timing", "timing_mass", "timing_chance")
        return dict(zip(names, np.mean(scored, axis=0).tolist(), strict=True))


def _scored(look: Any, grounding: tuple[Grounding, ...]) -> Iterator[tuple[float, float, float]]:
    """For each token with a known interval: hit, mass, and the share of the recording that it is."""
    times = [] if look is None else [one for one in look.columns if isinstance(one, Interval)]
    if not times:
        return
    edges = np.array([(one.start, one.end) for one in times])
    whole, middle = edges[-1, 1] - edges[0, 0], edges.mean(1)
    for token, weights in zip(look.rows, look.mean().weights, strict=True):
        if not isinstance(token, Token):
            continue
        true = next((one.region for one in grounding if overlaps(token, one.start, one.end)), None)
        if not isinstance(true, Interval) or not weights.any():
            continue
        first, last = true.start - BESIDE, true.end + BESIDE
        shared = np.clip(np.minimum(edges[:, 1], last) - np.maximum(edges[:, 0], first), 0, None)
        share = shared / np.maximum(edges[:, 1] - edges[:, 0], 1e-9)
        hit = first <= middle[weights.argmax()] <= last
        yield float(hit), float((weights * share).sum()), float(shared.sum() / whole)
