"""Feature-wise (multi-dimensional): a score for each feature, `e_i = c · tanh((W_q q + W_k k_i + b) / c)`, c = 5.

The normalizer runs over the positions separately for each feature, and `context = Σ_i a_i ⊙ v_i`: each feature can
attend to another position. Shen et al. 2018, "DiSAN: Directional Self-Attention Network for
RNN/CNN-Free Language Understanding", sections 2.3 and 3.1. Values are as wide as the scores.

    Attention(FeatureWise(query=300, key=300, value=300))
"""

from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.score import Score
from regard.ranges import Positive, ranged

__all__ = ["FeatureWise", "feature_wise"]


def feature_wise(
    query: Float[Tensor, "*lead query hidden"], keys: Float[Tensor, "*lead key hidden"], c: float = 5.0
) -> Float[Tensor, "*lead query key hidden"]:
    """`c · tanh((q + k) / c)` of projected queries and keys, every query with every key."""
    return c * torch.tanh((query.unsqueeze(-2) + keys.unsqueeze(-3)) / c)


class FeatureWise(Score):
    """`e = c · tanh((W_q q + W_k k + b)/c)`, one score per feature"""

    kernel = "feature"
    features = True

    @ranged
    def __init__(
        self, query: int, key: int, value: int, c: Annotated[Positive, "scores are bounded to ±c"] = 5.0
    ) -> None:
        super().__init__()
        self.hidden, self.c = value, c
        self.W_q = nn.Linear(query, value)  # carries b
        self.W_k = nn.Linear(key, value, bias=False)

    def project(self, query: Float[Tensor, "*lead query dim"] | None) -> Float[Tensor, "*lead query hidden"]:
        return self.W_q(super().project(query))  # type: ignore[no-any-return]

    def prepare(self, keys: Float[Tensor, "*lead key dim"]) -> Float[Tensor, "*lead key hidden"]:
        return self.W_k(keys)  # type: ignore[no-any-return]

    def scores(
        self, query: Float[Tensor, "*lead query hidden"], keys: Float[Tensor, "*lead key hidden"], state: Any = None
    ) -> Float[Tensor, "*lead query key hidden"]:
        return feature_wise(query, keys, self.c)
