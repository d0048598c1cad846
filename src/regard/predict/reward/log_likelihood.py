"""LogLikelihood: how likely the true answer was.

`R = log p(y | x)`. It tells good answers from better ones, where `correct` tells right from wrong.

    LogLikelihood()(logits, target)       # [batch]
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard.types import wide

__all__ = ["LogLikelihood"]


class LogLikelihood:
    """`log p(y | x)`"""

    def __call__(self, logits: Float[Tensor, "batch label"], target: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        return -cross_entropy(wide(logits), target, reduction="none")
