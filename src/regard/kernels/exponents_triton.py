"""e^{2x} once a row: what turns `tanh(q + k)` into a product and a reciprocal, and how large the arguments get.

`tanh(q + k) = 1 - 2 / (1 + e^{2q}·e^{2k})` holds in float32 while the largest |q| + |k| lies between `NEAR`
and `BOUND`; the largest sizes of each batch row are left on the GPU for the kernels to look at. The weight of a feature
is folded into its factor, `w / (1 + X·Y) = s·1 / (c·X·Y + c)` with c = s/w, which spares the scores a product.

    ready = exponents(q, k, w)      # c·e^{2q}, e^{2k} by pairs of features, what was folded and the sizes
    plan = powers_plan(batch, q_time, k_time, width)    # e^{2q}, e^{-2q} and e^{2k} row by row, for the gradients
    plan.launch(data, q, k)
"""

from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.launch_triton import Launch, blocks
from regard.kernels.math_triton import exponential, packed

__all__ = [
    "BOUND", "FOLDED", "FOURFOLD", "NEAR", "WIDE", "Exponents", "ExponentsPlan", "exponents", "exponents_plan",
    "largest_of", "padded", "powers_plan", "size_of",
]  # fmt: skip

BOUND = tl.constexpr(21.0)  # |q| + |k|: two factors of 1 + e^{2·21} have a finite, normal reciprocal
FOURFOLD = tl.constexpr(10.5)  # the same for four factors, with c from 2^-15 to 2 in each
NEAR = tl.constexpr(1.5)  # below it tanh is about its argument, and 1 - 2r has fewer digits than that
MANY = tl.constexpr(128)  # sizes looked at together
ROWS = 32  # rows of a tile
FOLDED = tl.constexpr(20)  # what is kept of eight features: c of each, a of each, half the sum of a/c, the scale
WEIGHTS = tl.constexpr(512)  # weights looked at together
WIDE = 128  # rows of scores and of features are padded to this: every load is aligned, and none needs a mask


@triton.jit
@no_type_check
def folded(w, cols, width):
    """Of these features a and c, `w / d = scale · a / (c·d)`, and the scale: a is 1. Where the smallest weight is less
    than 2^-16 of the largest, or any is no number, nothing is folded: a is w, c is 1 and the scale 0."""
    most = tl.zeros([WEIGHTS], tl.int32)
    least = tl.zeros([WEIGHTS], tl.int32) + 0x7FFFFFFF
    for start in range(0, width, WEIGHTS):
        i = start + tl.arange(0, WEIGHTS)
        bits = tl.abs(tl.load(w + i, mask=i < width, other=0.0)).to(tl.int32, bitcast=True)  # a NaN is the largest
        most = tl.maximum(most, bits)
        least = tl.minimum(least, tl.where(i < width, bits, 0x7FFFFFFF))
    largest = tl.max(most).to(tl.float32, bitcast=True)
    smallest = tl.min(least).to(tl.float32, bitcast=True)
    fold = (smallest >= largest * 2.0**-16) & (largest >= 2.0**-100) & (largest <= 2.0**100)
    each = tl.load(w + cols, mask=cols < width, other=0.0)
    # From 2^-15 to 2: four factors of up to 2·e^{2·10.5} and the reciprocal of their product stay normal.
    c = tl.where(cols < width, tl.div_rn(largest * 2.0**-15, each), 2.0)
    return tl.where(fold, 1.0, each), tl.where(fold, c, 1.0), tl.where(fold, largest * 2.0**-15, 0.0)


# The lengths never make Triton compile another kernel; the width may: where it divides by 16 loads are wide.
@triton.jit(do_not_specialize=["q_time", "k_time", "pairs", "q_tiles", "batch"])
@no_type_check
def exponents_kernel(
    x, y, table, sizes, q, k, w, q_time, k_time, width, pairs, x_stride, y_stride, q_tiles, batch,
    T: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """c·e^{2q} and e^{2k}, c and 1 beyond the ends, pairs of features as words [batch, pair, stride]; the table of what
    was folded; and the largest |x| of every tile (as bits, so that a NaN counts as the largest)."""
    b = tl.program_id(0)
    b64 = b.to(tl.int64)
    across, tile = tl.num_programs(2), tl.program_id(1)
    source, out, time, stride = q, x, q_time, x_stride
    largest = sizes + (b * q_tiles + tile) * across + tl.program_id(2)
    cols = tl.program_id(2) * 2 * F + tl.arange(0, 2 * F)[None, :]
    c = tl.zeros([1, 2 * F], tl.float32) + 1.0
    if tile < q_tiles:
        a, c, scale = folded(w, cols, width)
        if (b == 0) & (tile == 0):
            row = table + cols // 8 * FOLDED + cols % 8
            tl.store(row, c, mask=cols < 2 * pairs)
            tl.store(row + 8, a, mask=cols < 2 * pairs)
            group = tl.program_id(2) * (F // 4) + tl.arange(0, F // 4)
            halves = 0.5 * tl.sum(tl.reshape(tl.div_rn(a, c), [F // 4, 8]), 1)
            tl.store(table + group * FOLDED + 16, halves, mask=group < pairs // 4)
            tl.store(table + group * FOLDED + 17, tl.zeros([F // 4], tl.float32) + scale, mask=group < pairs // 4)
    else:
        source, out, time, stride = k, y, k_time, y_stride
        k_tiles = tl.num_programs(1) - q_tiles
        tile -= q_tiles
        largest = sizes + batch * q_tiles * across + (b * k_tiles + tile) * across + tl.program_id(2)
    rows = tile * T + tl.arange(0, T)[:, None]
    inside = (rows < time) & (cols < width)
    each = tl.load(source + b64 * time * width + rows * width + cols, mask=inside, other=0.0).to(tl.float32)
    even, odd = tl.split(tl.reshape(exponential(2.0 * each) * c, [T, F, 2]))
    to = tile * T + tl.arange(0, T)[None, :]
    down = tl.program_id(2) * F + tl.arange(0, F)[:, None]
    place = out + (b64 * pairs + down) * stride + to
    tl.store(place, tl.trans(packed(even, odd)), mask=(down < pairs) & (to < stride))
    tl.store(largest, tl.max(tl.max(tl.abs(each).to(tl.int32, bitcast=True), 1), 0))


@triton.jit(do_not_specialize=["q_time", "k_time", "q_tiles"])
@no_type_check
def powers_kernel(
    x, x_sizes, y, y_sizes, q, k, q_time, k_time, width, stride, q_tiles, T: tl.constexpr, F: tl.constexpr
):  # fmt: skip
    """Row by row e^{2q} and then e^{-2q}, and e^{2k}, 1 beyond a row's end, and the largest |x|, as above."""
    b64 = tl.program_id(0).to(tl.int64)
    tile, tiles, of_queries = tl.program_id(1), q_tiles, tl.program_id(1) < q_tiles
    source, out, sizes, time, turns = q, x, x_sizes, q_time, 2
    if not of_queries:
        source, out, sizes, time, turns = k, y, y_sizes, k_time, 1
        tiles = tl.num_programs(1) - q_tiles
        tile -= q_tiles
    rows = tile * T + tl.arange(0, T)[:, None]
    cols = tl.program_id(2) * F + tl.arange(0, F)[None, :]
    inside = (rows < time) & (cols < width)
    each = tl.load(source + b64 * time * width + rows * width + cols, mask=inside, other=0.0).to(tl.float32)
    place = out + (b64 * time + rows) * turns * stride + cols
    tl.store(place, exponential(2.0 * each), mask=(rows < time) & (cols < stride))
    if of_queries:
        tl.store(place + stride, exponential(-2.0 * each), mask=(rows < time) & (cols < stride))
    most = tl.max(tl.max(tl.abs(each).to(tl.int32, bitcast=True), 1), 0)
    tl.store(sizes + (tl.program_id(0) * tiles + tile) * tl.num_programs(2) + tl.program_id(2), most)


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


class ExponentsPlan(NamedTuple):
    """The launch that works out the exponents of some shape, and the one tensor it fills, in `launch.parts`: making a
    tensor takes its host as long as many a kernel runs."""

    launch: Launch
    numbers: int  # of the tensor
    strides: tuple[int, ...]  # from row to row, of each side
    sizes: tuple[int, ...]  # how many a batch row, of each side


class Exponents(NamedTuple):
    """e^{2x} of each side as the kernels want it, then the largest |x| of the tiles."""

    data: Tensor
    plan: ExponentsPlan


@lru_cache(maxsize=4096)
def exponents_plan(batch: int, q_time: int, k_time: int, width: int, *kind: Any) -> ExponentsPlan:
    """For `exponents`; `kind` is the device and the types of q and k."""
    pairs, columns = padded(width, 8) // 2, 32
    strides = (padded(q_time, WIDE), padded(k_time, WIDE))
    tiles, across = (strides[0] // ROWS, strides[1] // ROWS), blocks(pairs, columns)
    sizes = (tiles[0] * across, tiles[1] * across)
    x, y = (batch * pairs * stride for stride in strides)
    table = x + y + pairs // 4 * int(FOLDED) // 2
    launch = Launch(
        exponents_kernel, (batch, sum(tiles), across),
        (q_time, k_time, width, pairs, *strides, tiles[0], batch), (ROWS, columns),
        parts=((0, torch.int64), (8 * x, torch.int64), (8 * (x + y), torch.float32), (8 * table, torch.int32)),
    )  # fmt: skip
    return ExponentsPlan(launch, table + blocks(batch * sum(sizes), 2), strides, sizes)


def exponents(q: Tensor, k: Tensor, w: Tensor, plan: ExponentsPlan | None = None) -> Exponents:
    """c·e^{2q} and e^{2k} packed by pairs of features, [batch, pair, stride], both in one launch."""
    if plan is None:
        plan = exponents_plan(len(q), q.shape[1], k.shape[1], q.shape[2], q.device, q.dtype, k.dtype)
    data = torch.empty(plan.numbers, dtype=torch.int64, device=q.device)
    plan.launch(data, q, k, w)
    return Exponents(data, plan)


def powers_plan(batch: int, q_time: int, k_time: int, width: int, first: int = 0) -> ExponentsPlan:
    """The powers of both sides, or of one where the other's time is 0, from the number `first` (by 4) of a tensor on:
    [batch, time, stride], of queries e^{2q} and e^{-2q} in turn. The parts are each side's powers and sizes."""
    stride, columns = padded(width, WIDE), 64
    tiles, across = (blocks(q_time, ROWS), blocks(k_time, ROWS)), stride // columns
    sizes = (tiles[0] * across, tiles[1] * across)
    counts = (2 * batch * q_time * stride, padded(batch * sizes[0], 4), batch * k_time * stride, batch * sizes[1])
    *starts, end = accumulate(counts, initial=first)
    parts = tuple(zip([4 * at for at in starts], [torch.float32, torch.int32] * 2, strict=True))
    launch = Launch(
        powers_kernel, (batch, sum(tiles), across), (q_time, k_time, width, stride, tiles[0]), (ROWS, columns),
        parts=parts,
    )  # fmt: skip
    return ExponentsPlan(launch, end, (stride,), sizes)
