"""Biases: terms added to the attention scores, for example by position or by earlier weights. One module per bias.

A bias can act in five places, the fields of its `Terms`: added to the projected query, to the projected keys, to each
pair of them (inside the tanh of an additive score), or to the scores; or it hides keys. State from earlier steps (the
last weights, their sum) is passed as an argument: `start` makes it, `update` returns the next one. A bias that depends
only on the step number is a `Counting` bias.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from regard.errors import RegardError
from regard.types import Memory

__all__ = ["Bias", "Counting", "Terms", "beside_heads", "lengths"]


@dataclass(frozen=True)
class Terms:
    """What a bias adds, and where. Axes before the named ones need only broadcast to `[batch, (head,) …]`."""

    query: Float[Tensor, "... query hidden"] | None = None
    keys: Float[Tensor, "... key hidden"] | None = None
    pairs: Float[Tensor, "... query key hidden"] | None = None
    scores: Float[Tensor, "... query key"] | None = None
    mask: Bool[Tensor, "... query key"] | None = None  # True = may be looked at


class Bias(nn.Module):
    """The interface of a bias. Its constructor may take `hidden` (the width of the score's projected queries and keys),
    `query` (the width of a query) and `heads`."""

    stateful: bool = False  # whether it has a state that travels from step to step
    reads: bool = False  # whether `terms` gets the queries too, as they come (before any heads)

    def start(self, memory: Memory, queries: int) -> Any:
        """State before the first step, tensors `[batch, query, …]`; asked only of a stateful bias."""
        return None

    @abstractmethod
    def terms(self, memory: Memory, queries: int, state: Any) -> Terms:
        raise NotImplementedError

    def update(self, state: Any, weights: Float[Tensor, "batch query *head key"]) -> Any:
        """State for the next step, from this step's weights."""
        return state


class Counting(Bias):
    """A bias that knows at which step j each query is asked, from 0 on. State: the step, `[batch, hypothesis]`.

    As many queries as hypotheses are one step of each. Several queries of one hypothesis are successive steps, so
    that what is known beforehand is asked all at once: `attention(queries, memory, attention.start(memory))`.
    """

    stateful = True

    def start(self, memory: Memory, queries: int) -> Int[Tensor, "batch query"]:
        return torch.zeros(len(memory.keys), queries, dtype=torch.long, device=memory.keys.device)

    def steps(self, state: Int[Tensor, "batch hypothesis"], queries: int) -> Int[Tensor, "batch query"]:
        hypotheses = state.shape[1]
        if hypotheses not in (1, queries):
            expected = "as many, or one hypothesis whose successive steps they are"
            raise RegardError(f"{queries} queries of {hypotheses} hypotheses", expected=expected)
        return state if hypotheses == queries else state + torch.arange(queries, device=state.device)

    def advance(self, state: Int[Tensor, "batch hypothesis"], queries: int) -> Int[Tensor, "batch hypothesis"]:
        """State after these queries. No weights are needed for it, so none are worked out."""
        return state + (1 if state.shape[1] == queries else queries)


def lengths(memory: Memory) -> Int[Tensor, " batch"]:
    """How many keys are there, sentence by sentence."""
    if memory.mask is not None:
        return memory.mask.sum(-1)
    return torch.full((len(memory.keys),), memory.keys.shape[-2], device=memory.keys.device)


def beside_heads(term: Shaped[Tensor, "batch *rest"], memory: Memory) -> Shaped[Tensor, "batch *more"]:
    """A term that is the same for all heads, with an axis for them where there are any."""
    return term.unsqueeze(1) if memory.keys.dim() == 4 else term
