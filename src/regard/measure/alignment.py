"""Alignment accuracy, for data with known links.

For the target tokens with a known source (the example's `links`, in characters), `alignment` is the share whose highest
weight is on a source token that overlaps it, and `alignment_mass` the mean weight on it. Heads are averaged first. Only
predictions equal to the target count, since the links refer to the target.

    Alignment()(results)  →  {"alignment": 0.97, "alignment_mass": 0.88}, or {} where nothing is known
"""

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from regard.measure import Results
from regard.regions import Token
from regard.types import Link

__all__ = ["Alignment"]


def overlaps(token: Token, start: int, end: int) -> bool:
    """Whether they share a character; a token without a place (start −1) or without characters shares none."""
    return max(token.start, start) < min(token.end, end)


def looked(look: Any, links: Iterable[Link]) -> Iterable[tuple[bool, float]]:
    """For each target token with a known source: whether it looked there most, and with what weight."""
    weights = np.asarray(look.weights, dtype=np.float64)
    weights = weights.mean(axis=0) if weights.ndim == 3 else weights
    known = [link for link in links if link.source_start < link.source_end]
    for token, row in zip(look.rows, weights.tolist(), strict=True):
        spans = [(k.source_start, k.source_end) for k in known if overlaps(token, k.target_start, k.target_end)]
        if spans and row:
            inside = [any(overlaps(column, *span) for span in spans) for column in look.columns]
            most = max(range(len(row)), key=row.__getitem__)
            yield inside[most], sum(weight for weight, here in zip(row, inside, strict=True) if here)


class Alignment:
    """Share of target tokens whose highest attention weight is on the correct source token."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        seen = [
            one
            for example, prediction in results.pairs()
            if example.links and prediction.look is not None and prediction.text == example.target
            for one in looked(prediction.look, example.links)
        ]
        if not seen:
            return {}
        return {
            "alignment": sum(hit for hit, _ in seen) / len(seen),
            "alignment_mass": sum(mass for _, mass in seen) / len(seen),
        }
