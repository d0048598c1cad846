"""Additive (also MLP, concat): `e_i = wᵀ tanh(W_q q + W_k k_i + b)`.

Bahdanau, Cho & Bengio 2014, "Neural Machine Translation by Jointly Learning to Align and Translate",
appendix A.1.2. `W_k k_i` is computed once a sentence.

    Attention(Additive(query=512, key=1024, hidden=512))
"""

from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.score import Score
from regard.ranges import Width

__all__ = ["Additive", "additive"]


def additive(
    query: Float[Tensor, "*lead query hidden"], keys: Float[Tensor, "*lead key hidden"], w: Float[Tensor, " hidden"]
) -> Float[Tensor, "*lead query key"]:
    """`wᵀ tanh(q + k)` of projected queries and keys, every query with every key."""
    return torch.tanh(query.unsqueeze(-2) + keys.unsqueeze(-3)) @ w


class Additive(Score):
    """`e = wᵀ tanh(W_q q + W_k k + b)`"""

    kernel = "additive"

    def __init__(
        self, query: int, key: int, hidden: Annotated[Width, "size of the projected queries and keys"] = 256
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.W_q = nn.Linear(query, hidden)  # carries b
        self.W_k = nn.Linear(key, hidden, bias=False)
        self.w = nn.Parameter(torch.empty(hidden).uniform_(-(hidden**-0.5), hidden**-0.5))

    def project(self, query: Float[Tensor, "*lead query dim"] | None) -> Float[Tensor, "*lead query hidden"]:
        return self.W_q(super().project(query))  # type: ignore[no-any-return]

    def prepare(self, keys: Float[Tensor, "*lead key dim"]) -> Float[Tensor, "*lead key hidden"]:
        return self.W_k(keys)  # type: ignore[no-any-return]

    def scores(
        self, query: Float[Tensor, "*lead query hidden"], keys: Float[Tensor, "*lead key hidden"], state: Any = None
    ) -> Float[Tensor, "*lead query key"]:
        return additive(query, keys, self.w)
