"""e^{2x} once a row: what turns `tanh(q + k)` into a product and a reciprocal, and how large the arguments get.

`tanh(q + k) = 1 - 2 / (1 + e^{2q}·e^{2k})` holds in float32 while the largest |q| + |k| lies between `NEAR`
and `BOUND`; the largest sizes of each batch row are left on the GPU for the kernels to look at.

    ready = exponents(q, k, pack=True)         # ready.x, ready.y, ready.sizes
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

__all__ = ["BOUND", "FOURFOLD", "NEAR", "WIDE", "Exponents", "exponents", "in_range", "padded", "size_of"]

BOUND = tl.constexpr(21.0)  # |q| + |k|: two factors of 1 + e^{2·21} have a finite, normal reciprocal
FOURFOLD = tl.constexpr(10.5)  # the same for four factors
NEAR = tl.constexpr(1.5)  # below it tanh is about its argument, and 1 - 2r has fewer digits than that
MANY = tl.constexpr(128)  # sizes looked at together
ROWS = 32  # rows of a tile
WIDE = 128  # rows of energies and of features are padded to this: every load is aligned, and none needs a mask


@triton.jit(do_not_specialize=["q_time", "k_time", "width", "pairs", "q_tiles", "batch"])
@no_type_check
def exponents_kernel(
    q, k, x, y, sizes, q_time, k_time, width, pairs, x_stride, y_stride, q_tiles, batch,
    PACK: tl.constexpr, T: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """e^{2q} and e^{2k}, zero beyond the ends, and the largest |x| of every tile (as bits, so that a NaN counts as the
    largest). PACK: pairs of features as words [batch, pair, stride]; else [batch, time, stride]."""
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
    cols = tl.program_id(2) * F + tl.arange(0, F)[None, :]
    base = source + b64 * time * width + rows * width
    if PACK:
        even = tl.load(base + 2 * cols, mask=(rows < time) & (2 * cols < width), other=0.0).to(tl.float32)
        odd = tl.load(base + 2 * cols + 1, mask=(rows < time) & (2 * cols + 1 < width), other=0.0).to(tl.float32)
        bits = tl.maximum(tl.abs(even).to(tl.int32, bitcast=True), tl.abs(odd).to(tl.int32, bitcast=True))
        words = tl.trans(packed(exponential(2.0 * even), exponential(2.0 * odd)))
        to = tile * T + tl.arange(0, T)[None, :]
        down = tl.program_id(2) * F + tl.arange(0, F)[:, None]
        tl.store(out + (b64 * pairs + down) * stride + to, words, mask=(down < pairs) & (to < stride))
    else:
        each = tl.load(base + cols, mask=(rows < time) & (cols < width), other=0.0).to(tl.float32)
        bits = tl.abs(each).to(tl.int32, bitcast=True)
        tl.store(
            out + (b64 * time + rows) * stride + cols, exponential(2.0 * each), mask=(rows < time) & (cols < stride)
        )
    tl.store(largest, tl.max(tl.max(bits, 1), 0))


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


@triton.jit
@no_type_check
def in_range(sizes, b, batch, q_parts, k_parts):
    """Whether batch row `b` may use the products."""
    size = size_of(sizes, b, batch, q_parts, k_parts)
    return (size <= BOUND) & (size >= NEAR)


def padded(size: int, to: int) -> int:
    return -(-size // to) * to


@dataclass(frozen=True)
class Exponents:
    """e^{2q}, e^{2k} as the kernels want them, and the largest |q| and |k| of their tiles, so many a batch row."""

    x: Tensor
    y: Tensor
    sizes: Tensor
    parts: tuple[int, int]


@lru_cache(maxsize=4096)
def _plan(batch: int, q_time: int, k_time: int, width: int, pack: bool, *kind: Any) -> tuple[Launch, Any]:
    """The launch, and the shapes of what it fills."""
    pairs = padded(width, 8) // 2
    if pack:
        strides, high = (padded(q_time, WIDE), padded(k_time, WIDE)), pairs
        tiles = (strides[0] // ROWS, strides[1] // ROWS)
        shapes = ((batch, pairs, strides[0]), (batch, pairs, strides[1]))
    else:
        strides, high = (padded(width, WIDE),) * 2, padded(width, WIDE)
        tiles = (blocks(q_time, ROWS), blocks(k_time, ROWS))
        shapes = ((batch, q_time, strides[0]), (batch, k_time, strides[1]))
    columns = 32
    across = blocks(high, columns)
    launch = Launch(
        exponents_kernel, (batch, sum(tiles), across),
        (q_time, k_time, width, pairs, *strides, tiles[0], batch), (pack, ROWS, columns),
    )  # fmt: skip
    return launch, (*shapes, (tiles[0] * across, tiles[1] * across))


def exponents(q: Tensor, k: Tensor, pack: bool) -> Exponents:
    """e^{2q} and e^{2k}, both in one launch; `pack` by pairs of features, feature after feature."""
    batch, width = q.shape[0], q.shape[2]
    launch, (x_shape, y_shape, parts) = _plan(batch, q.shape[1], k.shape[1], width, pack, q.device, q.dtype, k.dtype)
    kind = torch.int64 if pack else torch.float32
    x = torch.empty(x_shape, dtype=kind, device=q.device)
    y = torch.empty(y_shape, dtype=kind, device=q.device)
    sizes = torch.empty(batch * sum(parts), dtype=torch.int32, device=q.device)
    launch(q, k, x, y, sizes)
    return Exponents(x, y, sizes, parts)
