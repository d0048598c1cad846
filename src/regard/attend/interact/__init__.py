"""Interactions: combine a document and a question before the answer is predicted. One module per interaction.

An interaction reads two memories of equal width and gives, for every position of the document, what it knows of the
question (`values`), or how much each position counts for the question as a whole (`weights`). Padding of either side
never changes anything, whatever its values.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.types import Memory, Rows

__all__ = ["Interact", "Interaction", "bare"]


@dataclass(frozen=True)
class Interaction(Rows):
    """What came of it, and how: the affinity of each pair of positions and its two normalizations.

    Where there are sentinels, they are the last position of either axis.
    """

    values: Float[Tensor, "batch document size"] | None = None
    weights: Float[Tensor, "batch document"] | None = None
    affinity: Float[Tensor, "batch rows columns"] | None = None
    over_document: Float[Tensor, "batch columns rows"] | None = None  # each row sums to 1 over the document
    over_question: Float[Tensor, "batch rows columns"] | None = None  # each row sums to 1 over the question


class Interact(nn.Module):
    """The interface of an interaction; `inputs` is the width of an encoder's values."""

    size: int  # width of the values it gives
    gives: ClassVar[Literal["values", "weights"]] = "values"
    early: ClassVar[bool] = False  # whether both are read as one sequence, before the encoder

    @abstractmethod
    def forward(self, document: Memory, question: Memory) -> Interaction:
        raise NotImplementedError


def bare(memory: Memory) -> tuple[Float[Tensor, "batch time dim"], Bool[Tensor, "batch time"]]:
    """The values with zeros in the padding, and the mask."""
    values, mask = memory.values, memory.mask
    if mask is None:
        mask = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
    return values.masked_fill(~mask.unsqueeze(-1), 0.0), mask
