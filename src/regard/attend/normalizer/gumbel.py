"""Gumbel-softmax: a draw that gradients pass through, `a = softmax((e + g) / τ)`, `g = −log(−log u)`.

Jang, Gu & Poole 2017, "Categorical Reparameterization with Gumbel-Softmax"; Maddison, Mnih & Teh 2017, "The Concrete
Distribution". As τ falls the draw nears a single key. With `hard` the forward pass takes the single key and the
backward pass the soft draw (straight-through). Outside training no noise is added.

    Gumbel(temperature=0.5, hard=True)(scores, mask).soft
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer
from regard.attend.normalizer.softmax import softmax
from regard.attend.normalizer.straight_through import harden
from regard.ranges import Temperature, ranged

__all__ = ["Gumbel"]


class Gumbel(Normalizer):
    """`a = softmax((e + g)/τ)`"""

    @ranged
    def __init__(
        self,
        temperature: Annotated[
            Temperature, "temperature that divides the noisy scores; lower values concentrate the weights on one key"
        ] = 1.0,
        hard: Annotated[bool, "use a single key in the forward pass and soft weights in the backward pass"] = False,
    ) -> None:
        super().__init__()
        self.temperature, self.hard = temperature, hard

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        if self.training:
            # An exponential draw is −log u without the chance of log 0.
            scores = scores - torch.empty_like(scores).exponential_().log()
        soft = softmax(scores / self.temperature, mask)
        return Normalized(soft=harden(soft, mask) if self.hard else soft)
