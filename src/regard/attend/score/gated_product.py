"""Gated product: `e_i = hᵀ ReLU(W (q ⊙ k_i) + b)`, a small network over the product of query and key.

He et al. 2018, "NAIS: Neural Attentive Item Similarity Model for Recommendation", equation 10 (NAIS-prod), where the
query is a candidate item and the keys are the items of a user's history. `h` starts at ones, as in the authors' code.

    Attention(GatedProduct(query=64, key=64, hidden=16), Smoothed(beta=0.5))
"""

from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.score import Score, same_size
from regard.ranges import Width

__all__ = ["GatedProduct", "gated_product"]


def gated_product(
    query: Float[Tensor, "*lead query size"],
    keys: Float[Tensor, "*lead key size"],
    W: Float[Tensor, "hidden size"],
    b: Float[Tensor, " hidden"],
    h: Float[Tensor, " hidden"],
) -> Float[Tensor, "*lead query key"]:
    """Every query with every key. `W (q ⊙ k) = (W diag q) k`, so it is one matrix product for each query, and the
    products `q ⊙ k` are never stored."""
    gated = query.unsqueeze(-2) * W
    inner = gated.flatten(-3, -2) @ keys.transpose(-1, -2)
    inner = inner.reshape(*gated.shape[:-1], keys.shape[-2]) + b.unsqueeze(-1)
    return torch.einsum("...ak,a->...k", torch.relu(inner), h)


class GatedProduct(Score):
    """`e = hᵀ ReLU(W (q ⊙ k) + b)`"""

    def __init__(
        self, query: int, key: int, hidden: Annotated[Width, "units of the layer over the product"] = 16
    ) -> None:
        super().__init__()
        self.hidden = same_size("gated_product", query, key)
        self.W = nn.Parameter(torch.empty(hidden, key).normal_(std=(2 / (hidden + key)) ** 0.5))
        self.b = nn.Parameter(torch.empty(hidden).normal_(std=(2 / (hidden + key)) ** 0.5))
        self.h = nn.Parameter(torch.ones(hidden))

    def scores(
        self, query: Float[Tensor, "*lead query size"], keys: Float[Tensor, "*lead key size"], state: Any = None
    ) -> Float[Tensor, "*lead query key"]:
        return gated_product(query, keys, self.W, self.b, self.h)
