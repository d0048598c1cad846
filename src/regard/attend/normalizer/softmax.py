"""Softmax: `a_i = exp(e_i) / Σ_j exp(e_j)`: every visible key gets some weight.

Softmax()(scores, mask).soft
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer

__all__ = ["Softmax", "softmax"]


def softmax(
    scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None
) -> Float[Tensor, "*lead key"]:
    """Softmax over the visible keys; zeros, with zero gradients, where there are none."""
    if mask is None:
        return torch.softmax(scores, dim=-1)
    hidden = ~mask
    weights = torch.softmax(scores.masked_fill(hidden, torch.finfo(scores.dtype).min), dim=-1)
    return weights.masked_fill(hidden, 0.0)


class Softmax(Normalizer):
    """`a = exp(e) / Σ exp(e)`"""

    kernel = "softmax"

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        return Normalized(soft=softmax(scores, mask))
