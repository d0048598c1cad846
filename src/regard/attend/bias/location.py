"""Location: where the last step looked, `U f_i`, `f = F ∗ α_{j−1}`, inside the score.

    e_ij = wᵀ tanh(W s + V h_j + U f_ij + b),   f_ij = Σ_n F_n α_{i−1, j+n},  n from −k to k

Chorowski, Bahdanau, Serdyuk, Cho & Bengio 2015, "Attention-Based Models for Speech Recognition", section 2.1. This is
`markov` with the matrix W = U F: nothing stands between the convolution and U, so both are linear in the same window of
weights. With few filters the matrix has a low rank, and a wide window (theirs has 201 places) needs few parameters.
Beyond the ends, and before the first step, the weights are 0.

    Attention(Additive(query=512, key=1024, hidden=256), bias=[Location(hidden=256)])
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.bias.markov import Markov
from regard.ranges import Few, FewOrNone, ranged

__all__ = ["Location"]


class Location(Markov):
    """`U (F ∗ α)`: filters over the previous step's weights (location-aware attention)"""

    @ranged
    def __init__(
        self,
        hidden: int,
        k: Annotated[FewOrNone, "neighbours on each side of a key whose earlier weights count too"] = 15,
        filters: Annotated[Few, "filters over these weights"] = 10,
    ) -> None:
        nn.Module.__init__(self)
        self.k = k
        # U is zeros: training begins with the score alone.
        self.F = nn.Parameter(torch.randn(filters, 2 * k + 1) * (2 * k + 1) ** -0.5)
        self.U = nn.Parameter(torch.zeros(hidden, filters))

    @property
    def matrix(self) -> Float[Tensor, "hidden window"]:
        return self.U @ self.F
