"""Projection: vectors that were computed before, such as features of a pre-trained network, in a model's width.

    x_i = W f_i + b + row(i) + column(i)

Where a position is in the grid of `rows` × `columns` is added, as learned vectors, as in `convolutions`.

    Projection(channels=1280, rows=7, columns=7)(features).values       # [batch, 49, 512]
"""

from typing import Annotated

import torch
from torch import nn

from regard.fields.embed import Embedding
from regard.ranges import Dropout, Width, ranged
from regard.types import Sequences

__all__ = ["Projection"]


class Projection(Embedding):
    """Features → vectors of one width, with learned positions."""

    steady = True

    @ranged
    def __init__(
        self,
        channels: int,
        rows: int,
        columns: int,
        dim: Annotated[Width, "size of the vectors"] = 512,
        dropout: Annotated[Dropout, "dropout on the features"] = 0.0,
    ) -> None:
        super().__init__()
        self.size = dim
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(channels, dim)
        self.row, self.column = (nn.Parameter(torch.zeros(count, dim)) for count in (rows, columns))

    def forward(self, inputs: Sequences) -> Sequences:
        places = (self.row[:, None] + self.column).flatten(0, 1)
        vectors = self.linear(self.dropout(inputs.values.to(self.row.dtype))) + places
        return Sequences(vectors, inputs.mask, inputs.lengths)
