"""Biases: what else than query and key speaks for a position. One file a bias.

A bias may speak in four places, and says so by which fields of its `Terms` it fills: added to the
projected query, to the projected keys, to both together for each pair of query and key (inside the
tanh of an additive score), or to the energies. State from earlier steps (the last weights, their
sum) travels by argument: `start` makes it, `update` gives the next one.
"""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from regard.types import Memory

__all__ = ["Bias", "Terms"]


@dataclass(frozen=True)
class Terms:
    """What a bias adds, and where. Axes before the named ones need only broadcast to `[batch, (head,) …]`."""

    query: Float[Tensor, "... query hidden"] | None = None
    keys: Float[Tensor, "... key hidden"] | None = None
    pairs: Float[Tensor, "... query key hidden"] | None = None
    energies: Float[Tensor, "... query key"] | None = None


class Bias(nn.Module):
    """What every bias is; made with `hidden`, the width of its score's projected queries and keys."""

    stateful: bool = False  # whether it has a state that travels from step to step

    def start(self, memory: Memory, queries: int) -> Any:
        """State before the first step, tensors `[batch, query, …]`; asked only of a stateful bias."""
        return None

    def terms(self, memory: Memory, queries: int, state: Any) -> Terms:
        raise NotImplementedError

    def update(self, state: Any, weights: Float[Tensor, "batch query *head key"]) -> Any:
        """State for the next step, from this step's weights."""
        return state
