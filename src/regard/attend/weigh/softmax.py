"""Softmax: `a_i = exp(e_i) / Σ_j exp(e_j)`: every visible key gets some weight.

Softmax()(energies, mask).soft
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.weigh import Weighed, Weighing, lowered

__all__ = ["Softmax", "softmax"]


def softmax(
    energies: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None
) -> Float[Tensor, "*lead key"]:
    """Softmax over the visible keys; zeros, with zero gradients, where there are none."""
    weights = torch.softmax(lowered(energies, mask), dim=-1)
    return weights if mask is None else torch.where(mask, weights, 0.0)


class Softmax(Weighing):
    """`a = exp(e) / Σ exp(e)`"""

    kernel = "softmax"

    def forward(self, energies: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Weighed:
        return Weighed(soft=softmax(energies, mask))
