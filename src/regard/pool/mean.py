"""Mean: `v = 1/T Σ_i h_i` over the T tokens that are there.

It ignores order and has no parameters; `intra` uses it as its query.

    Mean(inputs=600)(memory).vector                      # [batch, 600]
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.pool import Pool, Pooled
from regard.types import Memory

__all__ = ["Mean", "mean"]


def mean(
    values: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"] | None
) -> Float[Tensor, "batch dim"]:
    """The mean of what is there; zeros where nothing is."""
    T: Tensor | int = max(values.shape[1], 1)
    if mask is not None:
        values, T = values.masked_fill(~mask.unsqueeze(-1), 0.0), mask.sum(1, keepdim=True).clamp(min=1)
    # Summed in float32 at least: a long sum in half precision runs out of room.
    total = values.sum(1, dtype=torch.promote_types(values.dtype, torch.float32))
    return (total / T).to(values.dtype)


class Mean(Pool):
    """The mean of the states (mean pooling)"""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.size = inputs

    def forward(self, memory: Memory) -> Pooled:
        return Pooled(mean(memory.values, memory.mask))
