"""Poolings: reduce the encoder's states to one vector. One module per pooling.

Padding never counts, whatever its values, and an empty sequence gives zeros.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

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
    """The interface of a pooling; `inputs` and `summary` are the widths of the encoder's values and summary."""

    size: int  # width of the vector it gives
    rows: int = 1  # how many vectors of equal width stand side by side in it
    features: ClassVar[bool] = False  # whether each feature has weights of its own
    chooses: bool = False  # whether it samples where to look, which is learned by reinforcement

    @abstractmethod
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
