"""Max: the largest of each feature over the tokens that are there, `v_f = max_i h_if`.

Conneau, Kiela, Schwenk, Barrault & Bordes 2017, "Supervised Learning of Universal Sentence Representations from
Natural Language Inference Data", section 3.2.2.

    Max(inputs=600)(memory).vector                       # [batch, 600]
"""

from regard.pool import Pool, Pooled, there
from regard.types import Memory

__all__ = ["Max"]


class Max(Pool):
    """The largest of each feature"""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = inputs

    def forward(self, memory: Memory) -> Pooled:
        h, mask = there(memory)
        if mask is None:
            return Pooled(h.amax(1))
        largest = h.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(1)
        return Pooled(largest.masked_fill(~mask.any(-1, keepdim=True), 0.0))
