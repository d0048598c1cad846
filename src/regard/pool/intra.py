"""Intra-attention with the mean as query: `e_i = wᵀ tanh(W_k h_i + W_q mean(h) + b)`, `v = Σ_i softmax(e)_i h_i`.

Liu, Sun, Lin & Wang 2016, "Learning Natural Language Inference using Bidirectional LSTM model and Inner-Attention",
section 3.2 (no bias there).

    Intra(inputs=600)(memory).look.weights               # [batch, 1, time]
"""

from typing import Annotated

from regard.attend.attention import Attention
from regard.attend.score.additive import Additive
from regard.pool import Pool, Pooled, there
from regard.pool.mean import mean
from regard.ranges import Width
from regard.types import Memory

__all__ = ["Intra"]


class Intra(Pool):
    """Additive attention whose query is the mean of the states"""

    def __init__(self, inputs: int, hidden: Annotated[Width, "size of the projected mean and states"] = 300) -> None:
        super().__init__()
        self.size = inputs
        self.attention = Attention(Additive(query=inputs, key=inputs, hidden=hidden))

    def forward(self, memory: Memory) -> Pooled:
        h, mask = there(memory)
        look = self.attention(mean(h, mask).unsqueeze(1), self.attention.prepare(h, mask=mask))
        return Pooled(look.context.squeeze(1), look)
