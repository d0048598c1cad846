"""α-entmax: between softmax (α = 1) and sparsemax (α = 2); keys far below the best get exactly 0.

`a = argmax_p pᵀe + H_α(p)`, with Tsallis' entropy H_α. Peters, Niculae & Martins 2019, "Sparse
Sequence-to-Sequence Models". The computation is the `entmax` package's: exact for α = 1.5 and 2,
by bisection elsewhere.

    Entmax(alpha=1.5)(scores, mask).soft
"""

from collections.abc import Callable
from typing import Annotated

import entmax as package
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer
from regard.ranges import Range, ranged

__all__ = ["Entmax", "guarded"]

# Below the best score by this much a key's weight is 0 for every α ≥ 1.001, so it can stand for "hidden".
FLOOR = -1e4


def guarded(
    normalizer: Callable[[Tensor], Tensor],
    scores: Float[Tensor, "*lead key"],
    mask: Bool[Tensor, "*some key"] | None = None,
) -> Float[Tensor, "*lead key"]:
    """Apply a sparse normalizer of the package, which fails on rows of −inf and on none, to the visible keys only."""
    if scores.shape[-1] == 0:
        return scores
    if mask is None:
        return normalizer(scores)
    hidden = ~mask
    lowest = torch.finfo(scores.dtype).min
    best = scores.detach().masked_fill(hidden, lowest).amax(-1, keepdim=True)
    # A row with nothing visible becomes a flat row; its weights are then zeroed below, and its gradients with them.
    shifted = (scores - best).clamp(min=FLOOR).masked_fill(hidden, FLOOR)
    return normalizer(shifted).masked_fill(hidden, 0.0)


class Entmax(Normalizer):
    """`a = argmax_p pᵀe + H_α(p)`"""

    @ranged
    def __init__(
        self, alpha: Annotated[float, Range(1.001, 10), "sparsity: near 1 it is softmax, at 2 sparsemax"] = 1.5
    ) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        return Normalized(soft=guarded(self._weigh, scores, mask))

    def _weigh(self, scores: Tensor) -> Tensor:
        if self.alpha == 1.5:
            return package.entmax15(scores, dim=-1)  # type: ignore[no-any-return]
        if self.alpha == 2.0:
            return package.sparsemax(scores, dim=-1)  # type: ignore[no-any-return]
        return package.entmax_bisect(scores, alpha=self.alpha, dim=-1)  # type: ignore[no-any-return]
