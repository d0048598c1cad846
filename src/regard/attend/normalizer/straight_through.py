"""Straight-through: the best key alone in the forward pass, the softmax's gradient in the backward pass.

Bengio, Léonard & Courville 2013, "Estimating or Propagating Gradients Through Stochastic Neurons".

    StraightThrough()(scores, mask).soft
"""

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import one_hot

from regard.attend.normalizer import Normalized, Normalizer
from regard.attend.normalizer.softmax import softmax

__all__ = ["StraightThrough", "harden"]


def harden(
    soft: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None
) -> Float[Tensor, "*lead key"]:
    """All weight on the heaviest key, while gradients go to the soft weights."""
    hard = one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
    if mask is not None:
        hard = hard.masked_fill(~mask, 0.0)
    # hard + (soft − soft): adding first would round the weight away from exactly 1 or 0.
    return hard + (soft - soft.detach())


class StraightThrough(Normalizer):
    """`a = 1 at argmax e`, gradient of softmax"""

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        return Normalized(soft=harden(softmax(scores, mask), mask))
