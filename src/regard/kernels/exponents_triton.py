"""e^{2x} once a row: what turns `tanh(q + k)` into a product and a reciprocal, and how large the arguments get.

`tanh(q + k) = 1 - 2 / (1 + e^{2q}·e^{2k})` holds in float32 while the largest |q| + |k| lies between `NEAR`
and `BOUND`; the largest sizes of each batch row are left on the GPU for the kernels to look at.

    x, y, sizes = exponents(q, k, pack=True)
"""

from typing import no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.math_triton import exponential, packed

__all__ = ["BOUND", "NEAR", "WIDE", "exponents", "in_range", "padded"]

BOUND = tl.constexpr(21.0)  # |q| + |k|: two factors of 1 + e^{2·21} have a finite, normal reciprocal
NEAR = tl.constexpr(1.5)  # below it tanh is about its argument, and 1 - 2r has fewer digits than that
WIDE = 128  # rows of energies and of features are padded to this: every load is aligned, and none needs a mask


@triton.jit(do_not_specialize=["time", "width", "pairs"])
@no_type_check
def exponents_kernel(
    source, out, sizes, time, width, pairs, stride, PACK: tl.constexpr, T: tl.constexpr, F: tl.constexpr
):
    """e^{2x} of [batch, time, width], zero beyond the ends, and the largest |x| of each batch row (as bits, so that
    a NaN counts as the largest). PACK: pairs of features as words [batch, pair, stride]; else [batch, time, stride]."""
    b = tl.program_id(0)
    b64 = b.to(tl.int64)
    rows = tl.program_id(1) * T + tl.arange(0, T)[:, None]
    cols = tl.program_id(2) * F + tl.arange(0, F)[None, :]
    base = source + b64 * time * width + rows * width
    if PACK:
        even = tl.load(base + 2 * cols, mask=(rows < time) & (2 * cols < width), other=0.0).to(tl.float32)
        odd = tl.load(base + 2 * cols + 1, mask=(rows < time) & (2 * cols + 1 < width), other=0.0).to(tl.float32)
        bits = tl.maximum(tl.abs(even).to(tl.int32, bitcast=True), tl.abs(odd).to(tl.int32, bitcast=True))
        words = tl.trans(packed(exponential(2.0 * even), exponential(2.0 * odd)))
        across = tl.program_id(1) * T + tl.arange(0, T)[None, :]
        down = tl.program_id(2) * F + tl.arange(0, F)[:, None]
        tl.store(out + (b64 * pairs + down) * stride + across, words, mask=(down < pairs) & (across < stride))
        tl.atomic_max(sizes + b, tl.max(tl.max(bits, 1), 0), sem="relaxed")
    else:
        x = tl.load(base + cols, mask=(rows < time) & (cols < width), other=0.0).to(tl.float32)
        bits = tl.abs(x).to(tl.int32, bitcast=True)
        tl.store(out + (b64 * time + rows) * stride + cols, exponential(2.0 * x), mask=(rows < time) & (cols < stride))
        tl.atomic_max(sizes + b, tl.max(tl.max(bits, 1), 0), sem="relaxed")


@triton.jit
@no_type_check
def in_range(sizes, b, batch):
    """Whether batch row `b` may use the products."""
    size = tl.load(sizes + b).to(tl.float32, bitcast=True) + tl.load(sizes + batch + b).to(tl.float32, bitcast=True)
    return (size <= BOUND) & (size >= NEAR)


def padded(size: int, to: int) -> int:
    return -(-size // to) * to


def exponents(q: Tensor, k: Tensor, pack: bool) -> tuple[Tensor, Tensor, Tensor]:
    """e^{2q}, e^{2k} as the kernels want them, and the largest |q| and |k| of each batch row."""
    batch, width = q.shape[0], q.shape[2]
    sizes = torch.zeros(2, batch, dtype=torch.int32, device=q.device)
    made = []
    for side, source in enumerate((q, k)):
        time, pairs = source.shape[1], padded(width, 8) // 2
        if pack:
            stride = padded(time, WIDE)
            out = torch.empty(batch, pairs, stride, dtype=torch.int64, device=q.device)
            grid = (batch, stride // 32, triton.cdiv(pairs, 32))
        else:
            stride = padded(width, WIDE)
            out = torch.empty(batch, time, stride, dtype=torch.float32, device=q.device)
            grid = (batch, triton.cdiv(time, 32), stride // 32)
        exponents_kernel[grid](source, out, sizes[side], time, width, pairs, stride, PACK=pack, T=32, F=32)
        made.append(out)
    return made[0], made[1], sizes
