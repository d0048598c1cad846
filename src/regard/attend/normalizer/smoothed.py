"""Smoothed softmax: `a_i = exp(e_i) / (Σ_j exp(e_j))^β`, between the softmax (β = 1) and no normalizing (β = 0).

The weights of a query sum to `(Σ_j exp(e_j))^(1 − β)`, not to 1: a long history counts for more than a short one, where
the softmax would make each of its items count for less. He et al. 2018, "NAIS: Neural Attentive Item Similarity Model
for Recommendation", equation 12, with β = 0.5.

    Smoothed(beta=0.5)(scores, mask).soft
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer, lowered
from regard.ranges import Probability, ranged

__all__ = ["Smoothed", "smoothed"]


def smoothed(
    scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None, beta: float = 0.5
) -> Float[Tensor, "*lead key"]:
    """The weights of visible keys; zeros, with zero gradients, where there are none."""
    weights = (scores - beta * torch.logsumexp(lowered(scores, mask), -1, keepdim=True)).clamp(max=_most(scores))
    return weights.exp() if mask is None else weights.masked_fill(~mask, -torch.inf).exp()


def _most(scores: Tensor) -> float:
    """Exponents stay below what half precision can hold."""
    return 10.0 if scores.dtype == torch.float16 else 80.0


class Smoothed(Normalizer):
    """`a = exp(e) / (Σ exp(e))^β`; the weights do not sum to 1"""

    shares = False

    @ranged
    def __init__(
        self, beta: Annotated[Probability, "exponent of the sum: 1 is softmax, 0 does not normalize at all"] = 0.5
    ) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        return Normalized(soft=smoothed(scores, mask, self.beta))
