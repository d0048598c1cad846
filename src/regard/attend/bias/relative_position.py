"""Relative position: a number for how far a key stands from its query, added to the scores.

    learned   e_ji + b_{clip(i − j, −largest, largest)}      one b a head
    linear    e_ji − m |i − j|,  m = 2^{−8h/H} of head h = 1 … H, never learned

The learned form is that of Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer" (T5), section 2.1, with a clip as in Shaw et al. 2018, "Self-Attention with Relative Position
Representations", section 3.2, in place of T5's buckets; the linear one is Press et al. 2022, "Train Short, Test Long"
(ALiBi), section 3, to both sides. j is the number of the step (in self-attention the place of the query), i that of the
key, both from 0.

    attention = Attention(ScaledDot(query=64, key=64), bias=[RelativePosition(heads=None)])
    attention(x, memory, attention.start(memory))      # self-attention: the queries are successive steps
"""

from typing import Annotated, Literal

import torch
from jaxtyping import Int
from torch import Tensor, nn

from regard.attend.bias import Counting, Terms
from regard.errors import RegardError
from regard.ranges import Length, ranged
from regard.types import Memory

__all__ = ["RelativePosition"]


class RelativePosition(Counting):
    """A learned bias for each distance between query and key, or a fixed slope (ALiBi); each head has its own"""

    @ranged
    def __init__(
        self,
        heads: int | None,
        kind: Annotated[
            Literal["learned", "linear"], "a learned bias for each distance, or a fixed slope (linear, as ALiBi)"
        ] = "learned",
        largest: Annotated[
            Length, "largest distance with its own bias, in tokens; keys further away share the last one (kind=learned)"
        ] = 16,
    ) -> None:
        super().__init__()
        self.heads, self.kind, self.largest = heads, kind, largest
        H = heads or 1
        if kind == "learned":  # zeros: training begins with the score alone
            self.b = nn.Parameter(torch.zeros(H, 2 * largest + 1))
        else:
            slopes = [2 ** (-8 * h / H) for h in range(1, H + 1)]
            self.m = nn.Buffer(torch.tensor(slopes).reshape(H, 1, 1), persistent=False)

    def terms(self, memory: Memory, queries: int, state: Int[Tensor, "batch hypothesis"]) -> Terms:
        heads = memory.keys.shape[1] if memory.keys.dim() == 4 else None
        if self.heads not in (None, heads):
            raise RegardError(
                f"a relative_position bias for {self.heads} heads in attention with {heads or 'none'}",
                expected="the same number",
            )
        i = torch.arange(memory.keys.shape[-2], device=memory.keys.device)
        apart = (i - self.steps(state, queries).unsqueeze(-1)).unsqueeze(1)  # [batch, 1, query, key]
        if self.kind == "linear":
            scores = -self.m * apart.abs()
        else:
            index = apart.clamp(-self.largest, self.largest) + self.largest
            head = torch.arange(len(self.b), device=index.device).reshape(-1, 1, 1)
            scores = self.b[head, index]
        scores = scores.to(memory.keys.dtype)
        return Terms(scores=scores.squeeze(1) if heads is None else scores)
