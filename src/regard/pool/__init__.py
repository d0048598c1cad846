"""Poolings: what an encoder left of a sequence → one vector. One file a pooling.

A pooling sees only what is there: padding never counts, whatever stands in it, and a sequence of nothing gives zeros.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.types import Look, Memory

__all__ = ["Pool", "Pooled", "there"]


@dataclass(frozen=True)
class Pooled:
    """The vector; where it looked, if it did; what its weights cost beside the loss of the task, if they do; and, of
    one that samples, the vector to be expected, when asked for."""

    vector: Float[Tensor, "batch size"]
    look: Look | None = None
    penalty: Float[Tensor, " batch"] | None = None
    expected: Callable[[], Float[Tensor, "batch size"]] | None = None


class Pool(nn.Module):
    """What every pooling is; made with `inputs` and `summary`, the widths of the encoder's values and summary."""

    size: int  # width of the vector it gives
    rows: int = 1  # how many vectors of equal width stand side by side in it
    chooses: bool = False  # whether it samples where to look, which is learned by reinforcement

    def forward(self, memory: Memory) -> Pooled:
        raise NotImplementedError


def there(memory: Memory) -> tuple[Float[Tensor, "batch time dim"], Bool[Tensor, "batch time"] | None]:
    """The values with zeros in the padding, and the mask.

    A weight of 0 does not hide what is not a number (0 · NaN is NaN), neither here nor in a gradient. Where no
    sequence of the batch has a token there is one hidden step, for not every normalizer can do without.
    """
    values, mask = memory.values, memory.mask
    if values.shape[1] == 0:
        values = pad(values, (0, 0, 0, 1))
        mask = torch.zeros(values.shape[:2], dtype=torch.bool, device=values.device)
    return (values, None) if mask is None else (values.masked_fill(~mask.unsqueeze(-1), 0.0), mask)
