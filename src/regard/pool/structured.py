"""Structured: r learned queries, `A = softmax(W₂ tanh(W₁ Hᵀ))`, `M = A H`, with a penalty on similar weights.

Lin et al. 2017, "A Structured Self-attentive Sentence Embedding", sections 2.1 and 2.2: the penalty is
`‖A Aᵀ − I‖_F²`, times 1.0 for classification in the paper and 0.3 for SNLI, where r is 30 and the hidden layer 150.
The vector is M, row by row; r is 10 here, since the next layer grows with it.

    Structured(inputs=600, hops=30)(memory).look.weights  # [batch, 30, time]
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attend.attention import Attention
from regard.attend.score.learned_query import LearnedQuery
from regard.pool import Pool, Pooled, there
from regard.ranges import Few, NonNegative, Width, ranged
from regard.types import Memory, wide

__all__ = ["Structured", "overlap"]


def overlap(A: Float[Tensor, "batch rows time"]) -> Float[Tensor, " batch"]:
    """`‖A Aᵀ − I‖_F²`, in float32 at least: 0 where every row looks at one token and no two at the same."""
    A = wide(A)
    with torch.autocast(A.device.type, enabled=False):  # which would take the product in half precision
        apart = A @ A.transpose(1, 2) - torch.eye(A.shape[1], dtype=A.dtype, device=A.device)
    return apart.square().sum((1, 2))


class Structured(Pool):
    """Attention with several learned queries: `M = softmax(W₂ tanh(W₁ Hᵀ)) H`, with the penalty `‖A Aᵀ − I‖²`"""

    @ranged
    def __init__(
        self,
        inputs: int,
        hops: Annotated[Few, "number of learned queries; each gives its own vector"] = 10,
        hidden: Annotated[Width, "units of the layer that scores a state"] = 150,
        penalty: Annotated[NonNegative, "weight of the penalty on queries that attend to the same tokens"] = 0.3,
    ) -> None:
        super().__init__()
        self.rows, self.size, self.penalty = hops, hops * inputs, penalty
        self.attention = Attention(LearnedQuery(inputs, hidden, hops))

    def forward(self, memory: Memory) -> Pooled:
        H, mask = there(memory)
        look = self.attention(None, self.attention.prepare(H, mask=mask))
        M = look.context.flatten(1)
        if not self.penalty:
            return Pooled(M, look)
        penalty = self.penalty * overlap(look.weights)
        # Nothing was looked at in an empty sequence, so nothing is to pay.
        return Pooled(M, look, penalty if mask is None else penalty.masked_fill(~mask.any(-1), 0.0))
