"""What the tests of interactions share: two memories with padding, and one small enough to be worked by hand."""

import math

import torch
from torch import Tensor

from regard.types import Memory

LN2 = math.log(2)
# By hand: D = [ln 2, 0], Q = [1, 0], of width 1, so that L = [[ln 2, 0], [0, 0]].
D, Q = (torch.tensor(rows, dtype=torch.float64).reshape(1, 2, 1) for rows in ([LN2, 0.0], [1.0, 0.0]))
HERE = torch.ones(1, 2, dtype=torch.bool)


def memory(lengths: tuple[int, ...], seed: int, garbage: float = 0.0, extra: int = 0, size: int = 4) -> Memory:
    """Memories of these lengths, whose padding holds garbage, `extra` positions more than it has to."""
    chance = torch.Generator().manual_seed(seed)
    whole = torch.randn(len(lengths), max(lengths), size, generator=chance, dtype=torch.float64)
    values = torch.full((len(lengths), max(lengths) + extra, size), garbage, dtype=torch.float64)
    mask = torch.arange(max(lengths) + extra)[None] < torch.tensor(lengths)[:, None]
    values[:, : max(lengths)] = whole
    values[~mask] = garbage
    return Memory(values, values, mask, whole[:, 0])


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
