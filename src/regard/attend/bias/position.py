"""Position: where the two sentences stand, `W ψ(j, i, I)`, `ψ = [log(1+j), log(1+i), log(1+I)]`, inside the score.

Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model", section
3.1: words in similar relative positions of both sentences are often translations of each other. j is the step of the
decoder and i the place of a key, both from 0 as in the authors' code; I is the length of the source. The logarithms
separate: that of j goes to the query and the others to the keys, so that no pair has a term of its own.

    Attention(Additive(query=512, key=1024, hidden=256), bias=[Position(hidden=256)])
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attend.bias import Counting, Terms, beside_heads, lengths
from regard.types import Memory

__all__ = ["Position"]


class Position(Counting):
    """`W [log(1+j), log(1+i), log(1+I)]`: decoder step, key position and source length"""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        # Zeros: training begins with the score alone.
        self.W = nn.Parameter(torch.zeros(hidden, 3))

    def terms(self, memory: Memory, queries: int, state: Int[Tensor, "batch hypothesis"]) -> Terms:
        i = torch.arange(memory.keys.shape[-2], device=memory.keys.device)
        query = self._of(self.steps(state, queries), 0)
        keys = self._of(i, 1) + self._of(lengths(memory).unsqueeze(-1), 2)
        query, keys = query.to(memory.keys.dtype), keys.to(memory.keys.dtype)
        return Terms(query=beside_heads(query, memory), keys=beside_heads(keys, memory))

    def _of(self, x: Int[Tensor, "*some"], column: int) -> Float[Tensor, "*some hidden"]:
        """`W[:, column] · log(1 + x)`"""
        return x.to(self.W.dtype).log1p().unsqueeze(-1) * self.W[:, column]
