"""Multi-head self-attention, one layer.

    h_i = [head_1; …; head_H],   head_j = softmax((W_q^j x_i)ᵀ W_k^j x / √d) W_v^j x,   x = words + positions

Vaswani et al. 2017, "Attention Is All You Need", sections 3.2.2 and 3.5 (sinusoid positions). As in the sentence
tables there are 8 heads of 75, without biases and without W_o, since the pooling projects next (2.0m parameters on
SNLI); the residual connection and layer norm (section 3.1) are optional and off, as there.

    MultiHead(inputs=300)(sequences).values              # [batch, time, 600]
"""

from typing import Annotated, ClassVar

import torch
from torch import nn
from torch.nn.functional import dropout

from regard.attend.attention import Attention
from regard.attend.heads import Heads
from regard.attend.positions import sinusoid
from regard.attend.score.scaled_dot import ScaledDot
from regard.encode import Encoder
from regard.find import Spec
from regard.pool.mean import mean
from regard.ranges import Dropout, Few, Width
from regard.types import Memory, Sequences

__all__ = ["MultiHead"]


class MultiHead(Encoder):
    """One layer of multi-head self-attention, with sinusoidal positions"""

    pool: ClassVar[Spec] = "source2token"

    def __init__(
        self,
        inputs: int,
        heads: Annotated[Few, "attention heads; they must divide size"] = 8,
        size: Annotated[Width, "width of all heads together"] = 600,
        residual: Annotated[bool, "add the input to the output (residual connection)"] = False,
        norm: Annotated[bool, "normalise the output (layer norm)"] = False,
        dropout: Annotated[Dropout, "dropout on the input vectors"] = 0.0,
    ) -> None:
        super().__init__()
        around = Heads(inputs, inputs, inputs, heads, size, bare=True)
        self.attention = Attention(ScaledDot(size // heads, size // heads), heads=around)
        self.W_x = nn.Linear(inputs, size, bias=False) if residual and inputs != size else None
        self.norm = nn.LayerNorm(size) if norm else None
        self.residual, self.dropout = residual, dropout
        self.size = self.summary = size

    def forward(self, inputs: Sequences) -> Memory:
        values, mask = inputs.values, inputs.mask
        x = values + sinusoid(torch.arange(values.shape[1], device=values.device), values.shape[2]).to(values.dtype)
        x = x.masked_fill(~mask.unsqueeze(-1), 0.0)
        dropped = dropout(x, self.dropout, self.training)
        look = self.attention(dropped, self.attention.prepare(dropped, mask=mask))
        h = look.context
        if self.residual:
            h = h + (x if self.W_x is None else self.W_x(x))
        if self.norm is not None:
            h = self.norm(h)
        h = h.masked_fill(~mask.unsqueeze(-1), 0.0)
        return Memory(h, h, mask, mean(h, mask), looks=(("self-attention", look),))
