"""Similarity: `[|u − v|; u ⊙ v]`. Symmetric; neither sentence counts by itself.

Tai, Socher & Manning 2015, "Improved Semantic Representations From Tree-Structured Long Short-Term Memory Networks",
section 4.2.

    Similarity(inputs=600)(u, v)                         # [batch, 1200]
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.predict.match import Match

__all__ = ["Similarity"]


class Similarity(Match):
    """`[|u − v|; u ⊙ v]`"""

    symmetric = True

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = 2 * inputs

    def forward(
        self, u: Float[Tensor, "batch inputs"], v: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, "batch size"]:
        return torch.cat([(u - v).abs(), u * v], -1)
