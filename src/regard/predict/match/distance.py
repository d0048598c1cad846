"""Distance: `[u; v; |u − v|; u ⊙ v]`.

Conneau, Kiela, Schwenk, Barrault & Bordes 2017, "Supervised Learning of Universal Sentence Representations from
Natural Language Inference Data", section 3.1.

    Distance(inputs=600)(u, v)                           # [batch, 2400]
"""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.predict.match import Match

__all__ = ["Distance"]


class Distance(Match):
    """`[u; v; |u − v|; u ⊙ v]`"""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = 4 * inputs

    def forward(
        self, u: Float[Tensor, "batch inputs"], v: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, "batch size"]:
        return torch.cat([u, v, (u - v).abs(), u * v], -1)
