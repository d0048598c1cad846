"""Pointing: whether attention over a picture is on each word's object, for data whose `grounding` names the places.

The model reads the true captions (`Results.read`). For each word with a known box B and the weights α over the boxes
b_i of the grid:

    pointing         whether the middle of the box with the highest weight lies in B      (the pointing game)
    attention_iou    |A ∩ B| / |A ∪ B|, A being all b_i with at least half of the highest weight
    attention_mass   Σ_i α_i |b_i ∩ B| / |b_i|, the share of the weight that lies on B

and the mean of each over all words. `pointing_chance` is the mean area of B, what pointing anywhere would get. Several
heads are averaged first. Zhang et al. 2016, "Top-down Neural Attention by Excitation Backprop", section 4.1, play the
game with a tolerance of 15 pixels; here there is none.

    Pointing()(results)  →  {"pointing": 0.93, "attention_iou": 0.41, "attention_mass": 0.72, …}
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.measure import Results
from regard.measure.alignment import overlaps
from regard.regions import Box, Token
from regard.types import Grounding

__all__ = ["Pointing"]

HALF = 0.5  # of the highest weight, from which a box counts as looked at


class Pointing:
    """Share of words whose highest attention weight is on the part of the picture they refer to."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs = zip(results.examples, results.read, strict=False)
        scored = [one for example, read in pairs for one in _scored(read.look, example.grounding)]
        if not scored:
            return {}
        names = ("pointing", "attention_iou", "attention_mass", "pointing_chance")
        return dict(zip(names, np.mean(scored, axis=0).tolist(), strict=True))


def _scored(look: Any, grounding: tuple[Grounding, ...]) -> Iterator[tuple[float, float, float, float]]:
    """For each token that speaks of a known box: hit, intersection over union, mass, and the area of the box."""
    if look is None or not look.in_picture:
        return
    boxes = _edges(look.columns)
    area = _area(boxes)
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2
    for token, weights in zip(look.rows, look.mean().weights, strict=True):
        [true, *_] = [_edges([one.region])[0] for one in grounding if _speaks(token, one)] or [None]
        if true is None or not weights.any():
            continue
        shared = _area(np.concatenate([np.maximum(boxes[:, :2], true[:2]), np.minimum(boxes[:, 2:], true[2:])], 1))
        point = middle[weights.argmax()]
        seen = weights >= HALF * weights.max()
        size = float(_area(true[None])[0])
        both = shared[seen].sum()
        yield (
            float((true[:2] <= point).all() and (point <= true[2:]).all()),
            float(both / (area[seen].sum() + size - both)),
            float((weights * shared / area).sum()),
            size,
        )


def _speaks(token: Any, one: Grounding) -> bool:
    return isinstance(token, Token) and overlaps(token, one.start, one.end)


def _edges(boxes: Any) -> NDArray[Any]:
    return np.array([(one.left, one.top, one.right, one.bottom) for one in boxes if isinstance(one, Box)])


def _area(boxes: NDArray[Any]) -> NDArray[Any]:
    return np.maximum(boxes[:, 2:] - boxes[:, :2], 0).prod(1)  # type: ignore[no-any-return]
