"""Max: the largest of each feature over the tokens that are there, `v_f = max_i h_if`.

Conneau, Kiela, Schwenk, Barrault & Bordes 2017, "Supervised Learning of Universal Sentence Representations from
Natural Language Inference Data", section 3.2.2. It is feature-wise attention with hard weights: each feature attends
to one token. As in figure 2 of the paper, a token's weight is the share of the features that are taken from it.

    Max(inputs=600)(memory).vector                       # [batch, 600]
    Max(inputs=600)(memory).look.by_key                  # [batch, 1, time]
"""

from torch import Tensor
from torch.nn.functional import one_hot

from regard.pool import Pool, Pooled, there
from regard.types import Look, Memory

__all__ = ["Max"]


class Max(Pool):
    """The maximum of each feature over the tokens (max pooling)"""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = inputs

    def forward(self, memory: Memory) -> Pooled:
        h, mask = there(memory)
        hidden = None if mask is None else ~mask.unsqueeze(-1)
        shown = h if hidden is None else h.masked_fill(hidden, float("-inf"))
        largest = shown.amax(1)
        if hidden is not None:
            largest = largest.masked_fill(hidden.all(1), 0.0)

        def weights() -> Tensor:
            taken = one_hot(shown.argmax(1), shown.shape[1]).transpose(1, 2).to(h.dtype)
            return (taken if hidden is None else taken.masked_fill(hidden, 0.0)).unsqueeze(1)

        return Pooled(largest, Look(largest.unsqueeze(1), weights, features=True))
