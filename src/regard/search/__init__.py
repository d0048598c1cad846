"""Searching for a sequence, one file a way: `greedy`, `sample`, `beam`. They know only `start` and `step`.

Whatever the decoder is (recurrent, Transformer, a table in a test), a search asks it for a first state
and then, token by token, for the logits of the next. Where the decoder looked follows the surviving
hypothesis. A banned token has its log-probability set to −inf *after* the softmax: the others keep the
probability the model gave them, nothing is shared out anew.

    [[best]] = Beam(width=5)(decoder, memory, start=1, end=2, longest=torch.tensor([50]))
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

from regard.types import Beams, Look, Memory

__all__ = ["Hypothesis", "Search", "Steps"]


@dataclass(frozen=True)
class Hypothesis:
    """One sequence that was found.

    `tokens` has the end token where it was chosen; a sequence cut at its greatest length has none.
    `log_prob` is the sum over its tokens; `score` is what it was ranked by, which a search may normalise.
    `weights` (where asked for, on the CPU) say where each token's step looked: `[time, key]`, under heads
    `[head, time, key]`.
    """

    tokens: tuple[int, ...]
    score: float
    log_prob: float
    weights: Tensor | None = field(default=None, repr=False, compare=False)


@runtime_checkable
class Steps(Protocol):
    """Any decoder, as a search sees it. Its state is a `regard.types.Beams` of its own making."""

    def start(self, memory: Memory) -> Beams:
        """The state of ONE hypothesis a sentence: tensors `[batch, 1, …]`."""
        ...

    def step(self, state: Any, token: Int[Tensor, "batch beam"]) -> tuple[Any, Look, Float[Tensor, "batch beam vocab"]]:
        """The state after reading one more token a hypothesis, where it looked, and the logits of the next token."""
        ...


@runtime_checkable
class Search(Protocol):
    """A way to find sequences: for each sentence of the memory its hypotheses, best first."""

    def __call__(
        self,
        decoder: Steps,
        memory: Memory,
        *,
        start: int,
        end: int,
        longest: Int[Tensor, " batch"],
        weights: bool = False,
        banned: Sequence[int] = (),
    ) -> list[list[Hypothesis]]:
        """`longest` is the greatest number of tokens of each sentence's hypotheses, the end token included."""
        ...
