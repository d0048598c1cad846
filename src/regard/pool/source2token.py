"""Source2token: an energy for each feature, `e_i = W elu(W₁ h_i + b₁) + b`, and `v = Σ_i softmax_i(e_i) ⊙ h_i`.

Shen et al. 2018, "DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language Understanding", section 3.2:
multi-dimensional attention without a query. Every feature chooses its own words. Dropout stands before each layer.
(The paper's b is kept, for its counts of parameters; the same for every token, it changes no weight.)

    Source2token(inputs=600)(memory).vector              # [batch, 600]
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import dropout, elu

from regard.pool import Pool, Pooled, there
from regard.types import Look, Memory

__all__ = ["Source2token", "weights_of"]


def weights_of(
    energies: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"] | None
) -> Float[Tensor, "batch time dim"]:
    """The softmax over time of each feature; zeros, with zero gradients, where there is nothing."""
    if mask is None:
        return torch.softmax(energies, 1)
    hidden = ~mask.unsqueeze(-1)
    energies = energies.masked_fill(hidden, torch.finfo(energies.dtype).min)
    return torch.softmax(energies, 1).masked_fill(hidden, 0.0)


class Source2token(Pool):
    """`e = W elu(W₁ h + b₁) + b`, a softmax over the tokens for each feature"""

    def __init__(self, inputs: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = inputs
        self.W_1, self.W = nn.Linear(inputs, inputs), nn.Linear(inputs, inputs)
        self.dropout = dropout

    def forward(self, memory: Memory) -> Pooled:
        h, mask = there(memory)
        inner = elu(self.W_1(dropout(h, self.dropout, self.training)))
        weights = weights_of(self.W(dropout(inner, self.dropout, self.training)), mask)
        vector = (weights * h).sum(1)
        look = Look(vector.unsqueeze(1), lambda: weights.unsqueeze(1), features=True)
        return Pooled(vector, look)
