"""Difference: `[u; v; u − v; u ⊙ v]`: like Distance, but signed.

Mou et al. 2016, "Natural Language Inference by Tree-Based Convolution and Heuristic Matching", section 3.2; DiSAN
and ReSAN classify SNLI by it.

    Difference(inputs=600)(u, v)                         # [batch, 2400]
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.predict.match import Match

__all__ = ["Difference"]


class Difference(Match):
    """`[u; v; u − v; u ⊙ v]`"""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = 4 * inputs

    def forward(
        self, u: Float[Tensor, "batch inputs"], v: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, "batch size"]:
        return torch.cat([u, v, u - v, u * v], -1)
