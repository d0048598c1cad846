"""Bilinear: `e_i = qᵀ W k_i`. The keys are taken through W once, so a step costs a dot product.

Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1
("general").

    Attention(Bilinear(query=512, key=1024))
"""

from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.score import Score

__all__ = ["Bilinear"]


class Bilinear(Score):
    """`e = qᵀ W k`"""

    kernel = "dot"

    def __init__(self, query: int, key: int) -> None:
        super().__init__()
        self.hidden = query
        self.W = nn.Linear(key, query, bias=False)

    def prepare(self, keys: Float[Tensor, "*lead key dim"]) -> Float[Tensor, "*lead key hidden"]:
        return self.W(keys)  # type: ignore[no-any-return]
