"""Causal: a query attends to keys up to its own position, `i ≤ j`.

Vaswani et al. 2017, "Attention Is All You Need", section 3.2.3. For self-attention: j is the place of the query, i
that of the key. Asked all at once or one by one over a memory that grows by a key a step (cached decoding), it is the
mask `attend.mask.causal`, where the last query stands at the last key. In a decoder that looks at a source it lets
step j see the first j + 1 source tokens, as if they were only just arriving.

    attention = Attention(ScaledDot(query=64, key=64), bias=[Causal()])
    attention(x, memory, attention.start(memory))      # the queries are successive steps
"""

import torch
from jaxtyping import Int
from torch import Tensor

from regard.attend.bias import Counting, Terms, beside_heads
from regard.types import Memory

__all__ = ["Causal"]


class Causal(Counting):
    """Hides later keys: a query sees keys up to its own position"""

    def terms(self, memory: Memory, queries: int, state: Int[Tensor, "batch hypothesis"]) -> Terms:
        i = torch.arange(memory.keys.shape[-2], device=memory.keys.device)
        return Terms(mask=beside_heads(i <= self.steps(state, queries).unsqueeze(-1), memory))
