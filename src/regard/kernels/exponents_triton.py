"""e^{2x} once a row: what turns `tanh(q + k)` into a product and a reciprocal, and how large the arguments get.

`tanh(q + k) = 1 - 2 / (1 + e^{2q}·e^{2k})` holds in float32 while the largest |q| + |k| lies between `NEAR`
and `BOUND`; the largest sizes of each batch row are left on the GPU for the kernels to look at.

    ready = exponents(q, k)         # ready.x, ready.y, ready.sizes: e^{2q} and e^{2k} by pairs of features
    of_keys = powers(k)             # of_keys.rows, of_keys.sizes: e^{2k} row by row, for the gradients
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.launch_triton import Launch, blocks
from regard.kernels.math_triton import exponential, packed

__all__ = [
    "BOUND", "FOURFOLD", "NEAR", "WIDE", "Exponents", "Powers", "exponents", "largest_of", "padded", "powers",
    "size_of",
]  # fmt: skip

BOUND = tl.constexpr(21.0)  # |q| + |k|: two factors of 1 + e^{2·21} have a finite, normal reciprocal
FOURFOLD = tl.constexpr(10.5)  # the same for four factors
NEAR = tl.constexpr(1.5)  # below it tanh is about its argument, and 1 - 2r has fewer digits than that
MANY = tl.constexpr(128)  # sizes looked at together
ROWS = 32  # rows of a tile
WIDE = 128  # rows of energies and of features are padded to this: every load is aligned, and none needs a mask


# The lengths never make Triton compile another kernel; the width may: where it divides by 16 loads are wide.
@triton.jit(do_not_specialize=["q_time", "k_time", "pairs", "q_tiles", "batch"])
@no_type_check
def exponents_kernel(
    q, k, x, y, sizes, q_time, k_time, width, pairs, x_stride, y_stride, q_tiles, batch,
    T: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """e^{2q} and e^{2k}, 1 beyond the ends, pairs of features as words [batch, pair, stride], and the largest |x| of
    every tile (as bits, so that a NaN counts as the largest)."""
    b = tl.program_id(0)
    b64 = b.to(tl.int64)
    across, tile = tl.num_programs(2), tl.program_id(1)
    source, out, time, stride = q, x, q_time, x_stride
    largest = sizes + (b * q_tiles + tile) * across + tl.program_id(2)
    if tile >= q_tiles:
        source, out, time, stride = k, y, k_time, y_stride
        k_tiles = tl.num_programs(1) - q_tiles
        tile -= q_tiles
        largest = sizes + batch * q_tiles * across + (b * k_tiles + tile) * across + tl.program_id(2)
    rows = tile * T + tl.arange(0, T)[:, None]
    cols = tl.program_id(2) * 2 * F + tl.arange(0, 2 * F)[None, :]
    inside = (rows < time) & (cols < width)
    each = tl.load(source + b64 * time * width + rows * width + cols, mask=inside, other=0.0).to(tl.float32)
    even, odd = tl.split(tl.reshape(exponential(2.0 * each), [T, F, 2]))
    to = tile * T + tl.arange(0, T)[None, :]
    down = tl.program_id(2) * F + tl.arange(0, F)[:, None]
    place = out + (b64 * pairs + down) * stride + to
    tl.store(place, tl.trans(packed(even, odd)), mask=(down < pairs) & (to < stride))
    tl.store(largest, tl.max(tl.max(tl.abs(each).to(tl.int32, bitcast=True), 1), 0))


@triton.jit(do_not_specialize=["time"])
@no_type_check
def powers_kernel(x, out, sizes, time, width, stride, T: tl.constexpr, F: tl.constexpr):
    """e^{2x} of every row, 1 beyond its end, and the largest |x|, as above."""
    b64 = tl.program_id(0).to(tl.int64)
    rows = tl.program_id(1) * T + tl.arange(0, T)[:, None]
    cols = tl.program_id(2) * F + tl.arange(0, F)[None, :]
    inside = (rows < time) & (cols < width)
    each = tl.load(x + b64 * time * width + rows * width + cols, mask=inside, other=0.0).to(tl.float32)
    place = out + (b64 * time + rows) * stride + cols
    tl.store(place, exponential(2.0 * each), mask=(rows < time) & (cols < stride))
    most = tl.max(tl.max(tl.abs(each).to(tl.int32, bitcast=True), 1), 0)
    part = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(2) + tl.program_id(2)
    tl.store(sizes + part, most)


@triton.jit
@no_type_check
def largest_of(sizes, first, parts):
    """The largest of some tiles' sizes."""
    most = tl.zeros([MANY], tl.int32)
    for start in range(0, parts, MANY):
        i = start + tl.arange(0, MANY)
        most = tl.maximum(most, tl.load(sizes + first + i, mask=i < parts, other=0))
    return tl.max(most).to(tl.float32, bitcast=True)


@triton.jit
@no_type_check
def size_of(sizes, b, batch, q_parts, k_parts):
    """The largest |q| + |k| that batch row `b` could have."""
    return largest_of(sizes, b * q_parts, q_parts) + largest_of(sizes, batch * q_parts + b * k_parts, k_parts)


def padded(size: int, to: int) -> int:
    return -(-size // to) * to


@dataclass(frozen=True)
class Exponents:
    """e^{2q}, e^{2k} as the kernels want them, and the largest |q| and |k| of their tiles, so many a batch row."""

    x: Tensor
    y: Tensor
    sizes: Tensor
    parts: tuple[int, int]


@dataclass(frozen=True)
class Powers:
    """e^{2x} row by row, and the largest |x| of the tiles, so many a batch row."""

    rows: Tensor  # [batch, time, stride]
    sizes: Tensor
    parts: int


@lru_cache(maxsize=4096)
def _plan(batch: int, q_time: int, k_time: int, width: int, *kind: Any) -> tuple[Launch, Any]:
    """The launch, and the shapes of what it fills."""
    pairs, columns = padded(width, 8) // 2, 32
    strides = (padded(q_time, WIDE), padded(k_time, WIDE))
    tiles, across = (strides[0] // ROWS, strides[1] // ROWS), blocks(pairs, columns)
    launch = Launch(
        exponents_kernel, (batch, sum(tiles), across),
        (q_time, k_time, width, pairs, *strides, tiles[0], batch), (ROWS, columns),
    )  # fmt: skip
    shapes = ((batch, pairs, strides[0]), (batch, pairs, strides[1]))
    return launch, (*shapes, (tiles[0] * across, tiles[1] * across))


def exponents(q: Tensor, k: Tensor) -> Exponents:
    """e^{2q} and e^{2k} packed by pairs of features, feature after feature, both in one launch."""
    batch, width = q.shape[0], q.shape[2]
    launch, (x_shape, y_shape, parts) = _plan(batch, q.shape[1], k.shape[1], width, q.device, q.dtype, k.dtype)
    x = torch.empty(x_shape, dtype=torch.int64, device=q.device)
    y = torch.empty(y_shape, dtype=torch.int64, device=q.device)
    sizes = torch.empty(batch * sum(parts), dtype=torch.int32, device=q.device)
    launch(q, k, x, y, sizes)
    return Exponents(x, y, sizes, parts)


@lru_cache(maxsize=4096)
def _powers_plan(batch: int, time: int, width: int, *kind: Any) -> tuple[Launch, Any]:
    stride, columns = padded(width, WIDE), 64
    grid = (batch, blocks(time, ROWS), stride // columns)
    launch = Launch(powers_kernel, grid, (time, width, stride), (ROWS, columns))
    return launch, ((batch, time, stride), grid[1] * grid[2])


def powers(x: Tensor) -> Powers:
    """e^{2x}, row by row."""
    batch, time, width = x.shape
    launch, (shape, parts) = _powers_plan(batch, time, width, x.device, x.dtype)
    rows = torch.empty(shape, dtype=torch.float32, device=x.device)
    sizes = torch.empty(batch * parts, dtype=torch.int32, device=x.device)
    launch(x, rows, sizes)
    return Powers(rows, sizes, parts)
