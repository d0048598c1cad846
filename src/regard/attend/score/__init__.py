"""Scores: how well a key matches a query, `e_i = score(q, k_i)`. One module per score.

`prepare` projects the keys once per memory, `project` the query once per step, and `scores` compares the two. A score
names its fused kernel; it never calls one.
"""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import RegardError
from regard.types import Memory

__all__ = ["Score", "same_size"]


class Score(nn.Module):
    """The interface of a score. Leading axes (batch, head) are the caller's."""

    kernel: str | None = None  # "dot": scores are `scale · q·k` of what project and prepare give
    scale: float = 1.0
    features: bool = False  # whether `scores` has one more axis, an score for each feature of the values
    stateful: bool = False  # whether it has a state that travels from step to step
    hidden: int  # width of projected queries and keys: what a bias inside the score must have

    def project(self, query: Float[Tensor, "*lead query dim"] | None) -> Float[Tensor, "*lead query hidden"]:
        if query is None:
            raise RegardError(f"{type(self).__name__} got no query", do="pass a query, or use learned_query")
        return query

    def prepare(self, keys: Float[Tensor, "*lead key dim"]) -> Float[Tensor, "*lead key hidden"]:
        return keys

    def scores(
        self, query: Float[Tensor, "*lead query hidden"], keys: Float[Tensor, "*lead key hidden"], state: Any = None
    ) -> Float[Tensor, "*lead query key"] | Float[Tensor, "*lead query key feature"]:
        return self.scale * (query @ keys.transpose(-1, -2)) if self.scale != 1.0 else query @ keys.transpose(-1, -2)

    def start(self, memory: Memory, queries: int) -> Any:
        """State before the first step, tensors `[batch, query, …]`; asked only of a stateful score."""
        return None

    def update(self, state: Any, weights: Float[Tensor, "batch query *head key"]) -> Any:
        """State for the next step, from this step's weights."""
        return state


def same_size(name: str, query: int, key: int) -> int:
    if query != key:
        raise RegardError(
            f"{name} got queries of size {query} and keys of size {key}",
            expected="the same size",
            do="use bilinear or additive, or heads",
        )
    return key
