"""Correct: 1 for a correct answer, else 0.

`R = 1` if `argmax p(y | x)` is the true label. Mnih et al. 2014, "Recurrent Models of Visual Attention", section 3.

    Correct()(logits, target)       # [batch]
"""

from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["Correct"]


class Correct:
    """1 if the most likely label is the true one, else 0"""

    def __call__(self, logits: Float[Tensor, "batch label"], target: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        return (logits.argmax(-1) == target).to(logits.dtype)
