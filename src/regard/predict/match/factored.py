"""Factored: a product for each row, `F_r = (M_p,r W_fp,r) ⊙ (M_h,r W_fh,r)`, since a full one would be huge.

Lin et al. 2017, "A Structured Self-attentive Sentence Embedding", section 4.3 and appendix B (a gated encoder over
the matrix embeddings of a pair). Made for `pool=structured`; any other vector is one row.

    Factored(inputs=6000, rows=10, hidden=30)(u, v)      # [batch, 300]
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import RegardError
from regard.predict.match import Match
from regard.ranges import Width, ranged

__all__ = ["Factored"]


class Factored(Match):
    """`(M_p W_fp) ⊙ (M_h W_fh)`, with separate matrices for each row"""

    @ranged
    def __init__(
        self, inputs: int, rows: int, hidden: Annotated[Width, "size of the product for each row"] = 150
    ) -> None:
        super().__init__()
        if rows < 1 or inputs % rows:
            raise RegardError(f"a vector of {inputs} in {rows} rows", expected="rows of equal width")
        self.rows, self.size = rows, rows * hidden
        width = inputs // rows
        bound = width**-0.5
        self.W_fp = nn.Parameter(torch.empty(rows, width, hidden).uniform_(-bound, bound))
        self.W_fh = nn.Parameter(torch.empty(rows, width, hidden).uniform_(-bound, bound))

    def forward(
        self, u: Float[Tensor, "batch inputs"], v: Float[Tensor, "batch inputs"]
    ) -> Float[Tensor, "batch size"]:
        M_p, M_h = (one.reshape(len(one), *self.W_fp.shape[:2]) for one in (u, v))
        F_p, F_h = torch.einsum("brw,rwh->brh", M_p, self.W_fp), torch.einsum("brw,rwh->brh", M_h, self.W_fh)
        return (F_p * F_h).flatten(1)
