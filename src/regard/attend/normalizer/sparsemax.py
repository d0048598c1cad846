"""Sparsemax: the nearest point of the simplex, `a = argmin_p ‖p − e‖²`; many keys get exactly 0.

Martins & Astudillo 2016, "From Softmax to Sparsemax". The computation is the `entmax` package's.

    Sparsemax()(scores, mask).soft
"""

import entmax as package
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer
from regard.attend.normalizer.entmax import guarded

__all__ = ["Sparsemax"]


class Sparsemax(Normalizer):
    """`a = argmin_p ‖p − e‖²`"""

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        return Normalized(soft=guarded(lambda e: package.sparsemax(e, dim=-1), scores, mask))
