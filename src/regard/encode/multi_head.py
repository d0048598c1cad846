"""Multi-head self-attention: every token asks all others, under several heads at once.

    h_i = [head_1; …; head_H],   head_j = softmax((W_q^j x_i)ᵀ W_k^j x / √d) W_v^j x,   x = words + positions

Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.2 and 3.5 (sinusoid positions). As in the sentence
tables there are 8 heads of 75, no biases and no projection W_o of the heads joined, for the pooling projects next
(2.0m parameters on SNLI); residual and layer norm (section 3.1) stand ready, and are off as there.

    MultiHead(inputs=300)(sequences).values              # [batch, time, 600]
"""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import dropout

from regard.attend.attention import Attention
from regard.attend.heads import Heads
from regard.attend.score.scaled_dot import ScaledDot
from regard.encode import Encoder
from regard.find import Spec
from regard.pool.mean import mean
from regard.types import Memory, Sequences

__all__ = ["MultiHead", "sinusoid"]


def sinusoid(time: int, width: int, device: torch.device | str | None = None) -> Float[Tensor, "time width"]:
    """`sin(i / 10000^{2f/d})` in the even features 2f, the cosine of the same in the odd ones after them."""
    f = torch.arange((width + 1) // 2, device=device, dtype=torch.float64)
    angle = torch.arange(time, device=device, dtype=torch.float64)[:, None] / 10_000 ** (2 * f / width)
    return torch.stack([angle.sin(), angle.cos()], -1).flatten(1)[:, :width]


class Joined(Heads):
    """Heads whose answers are joined and not projected; no biases."""

    def __init__(self, inputs: int, heads: int, size: int) -> None:
        super().__init__(inputs, inputs, inputs, heads, size)
        self.W_q, self.W_k, self.W_v = (nn.Linear(inputs, size, bias=False) for _ in range(3))
        del self.W_o

    def _split(self, x: Float[Tensor, "batch time size"]) -> Float[Tensor, "batch head time width"]:
        # Spelt out, for a width of -1 cannot be told where there is no token at all.
        return x.reshape(*x.shape[:-1], self.heads, self.size // self.heads).transpose(1, 2)

    def merge(self, answer: Float[Tensor, "batch head query width"]) -> Float[Tensor, "batch query size"]:
        return answer.transpose(1, 2).flatten(-2)


class MultiHead(Encoder):
    """Self-attention under many heads, positions added to the words"""

    pool: ClassVar[Spec] = "source2token"

    def __init__(
        self,
        inputs: int,
        heads: int = 8,
        size: int = 600,
        residual: bool = False,
        norm: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        around = Joined(inputs, heads, size)
        self.attention = Attention(ScaledDot(size // heads, size // heads), heads=around)
        self.W_x = nn.Linear(inputs, size, bias=False) if residual and inputs != size else None
        self.norm = nn.LayerNorm(size) if norm else None
        self.residual, self.dropout = residual, dropout
        self.size = self.summary = size

    def forward(self, inputs: Sequences) -> Memory:
        values, mask = inputs.values, inputs.mask
        x = values + sinusoid(values.shape[1], values.shape[2], values.device).to(values.dtype)
        x = x.masked_fill(~mask.unsqueeze(-1), 0.0)
        dropped = dropout(x, self.dropout, self.training)
        look = self.attention(dropped, self.attention.prepare(dropped, mask=mask))
        h = look.answer
        if self.residual:
            h = h + (x if self.W_x is None else self.W_x(x))
        if self.norm is not None:
            h = self.norm(h)
        h = h.masked_fill(~mask.unsqueeze(-1), 0.0)
        return Memory(h, h, mask, mean(h, mask), looks=(("self-attention", look),))
