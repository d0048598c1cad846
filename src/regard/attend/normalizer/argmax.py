"""Argmax: all weight on the best key. It has no gradient, so tasks refuse to train with it; `straight_through` makes
the same choice and can be trained.

Argmax()(scores, mask).choice
"""

from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer, lowered, visible

__all__ = ["Argmax"]


class Argmax(Normalizer):
    """`a = 1 at argmax e`"""

    passes = False

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        choice = lowered(scores, mask).argmax(-1)
        return Normalized(choice=choice, visible=visible(mask, choice.shape), keys=scores.shape[-1])
