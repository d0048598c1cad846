"""Convolutions: a small convolutional network from pixels to a grid of vectors.

`blocks` times: a 4×4 convolution that halves both sides and a 3×3 one, each with batch normalisation and ReLU. A
picture of size s becomes a grid of (s / 2^blocks)² positions, each with a receptive field around the middle of its own
cell (a 3×3 convolution that halves would see half a pixel too far to the left and above, and each block doubles that).
Where a position is in the picture is added to it, as a learned vector for its row and one for its column.

    Convolutions(channels=1, side=32)(pixels).values     # [batch, 64, 64]
"""

from typing import Annotated

import torch
from torch import nn

from regard.errors import RegardError
from regard.fields.embed import Embedding
from regard.ranges import Dropout, Range, Width, ranged
from regard.types import Pixels, Sequences

__all__ = ["Convolutions"]


class Convolutions(Embedding):
    """Pixels → a grid of vectors."""

    steady = True

    @ranged
    def __init__(
        self,
        channels: int,
        side: int,
        dim: Annotated[Width, "size of the vectors"] = 64,
        blocks: Annotated[int, Range(1, 10), "number of blocks; each halves both sides of the picture"] = 2,
        dropout: Annotated[Dropout, "dropout on whole channels after each block"] = 0.0,
    ) -> None:
        super().__init__()
        if side % 2**blocks or side < 2**blocks:
            raise RegardError(f"size={side} with embed.blocks={blocks}", expected=f"a multiple of {2**blocks}")
        self.size, self.grid = dim, side // 2**blocks
        layers: list[nn.Module] = []
        for block in range(blocks):
            width = max(8, dim // 2 ** (blocks - 1 - block)) if block < blocks - 1 else dim
            for kernel, stride in ((4, 2), (3, 1)):
                layers += [nn.Conv2d(channels, width, kernel, stride, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
                channels = width
            layers.append(nn.Dropout2d(dropout))
        self.layers = nn.Sequential(*layers)
        self.row, self.column = (nn.Parameter(torch.zeros(self.grid, dim)) for _ in range(2))

    def forward(self, inputs: Pixels) -> Sequences:
        pixels = inputs.values.to(self.row.dtype)
        maps = self.layers(pixels) + (self.row[:, None] + self.column).permute(2, 0, 1)
        vectors = maps.flatten(2).transpose(1, 2)
        mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
        return Sequences(vectors, mask, torch.full((len(vectors),), vectors.shape[1]))
