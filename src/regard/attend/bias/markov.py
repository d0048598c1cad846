"""Markov: where the last step looked, `W ξ_i`, `ξ_i = [α_{j−1,i−k}, …, α_{j−1,i+k}]`, inside the score.

Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model", section
3.2: what is looked at next depends on where one looked before, as in an HMM aligner (stay, one to the right). Beyond
the ends, and before the first step, the weights are 0.

    Attention(Additive(query=512, key=1024, hidden=256), bias=[Markov(hidden=256)])
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from regard.attend.bias import Bias, Terms
from regard.errors import RegardError
from regard.ranges import FewOrNone, ranged
from regard.types import Memory

__all__ = ["Markov", "windows"]


def windows(weights: Float[Tensor, "*lead key"], k: int) -> Float[Tensor, "*lead key window"]:
    """`ξ_i`: the weights from `i − k` to `i + k`, around every place i."""
    # One window more than there are keys, so that there is one to leave out even where there is no key at all.
    return pad(weights, (k, k + 1)).unfold(-1, 2 * k + 1, 1)[..., :-1, :]


class Markov(Bias):
    """`W ξ`: the previous step's weights in a window around each key"""

    stateful = True

    @ranged
    def __init__(
        self,
        hidden: int,
        k: Annotated[FewOrNone, "neighbours on each side of a key whose earlier weights count too"] = 2,
    ) -> None:
        super().__init__()
        self.k = k
        # Zeros: training begins with the score alone.
        self.W = nn.Parameter(torch.zeros(hidden, 2 * k + 1))

    @property
    def matrix(self) -> Float[Tensor, "hidden window"]:
        return self.W

    def start(self, memory: Memory, queries: int) -> Float[Tensor, "batch query *head key"]:
        batch, *heads, keys, _ = memory.keys.shape
        return memory.keys.new_zeros(batch, queries, *heads, keys)

    def terms(self, memory: Memory, queries: int, state: Float[Tensor, "batch query *head key"]) -> Terms:
        if state.shape[1] != queries:
            expected = "as many: each step waits for the weights of the one before"
            raise RegardError(f"{queries} queries of {state.shape[1]} hypotheses", expected=expected)
        term = linear(windows(state, self.k), self.matrix).to(memory.keys.dtype)
        if queries == 1:  # one hypothesis: a term of the keys, which costs less and leaves the way to a fused kernel
            return Terms(keys=term.squeeze(1))
        return Terms(pairs=term.transpose(1, 2) if memory.keys.dim() == 4 else term)

    def update(
        self, state: Float[Tensor, "batch query *head key"], weights: Float[Tensor, "batch query *head key"]
    ) -> Float[Tensor, "batch query *head key"]:
        return weights
