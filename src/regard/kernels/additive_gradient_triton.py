"""A tile of the gradients of additive attention, of queries and w or of keys. `additive_triton` launches it.

With X and Y as e^{2x} of both sides and `r = 1 / (1 + X·Y)`, `tanh = 1 - 2r`. Queries need it for w as well as
`1 - tanh²`: they take h = r - ½, `tanh = -2h` and `1 - tanh² = 4(¼ - h²)`; of float32 inputs m = 4r - 1 and
`1 - tanh² = 4X·Y·r²`, which needs no 1 - r (see `slope`). Keys need `1 - tanh² = 4 / (X·Y + 1/(X·Y) + 2)` alone: sums
of positive numbers, as exact as their parts, and fewer of them. Two of the others share a reciprocal, four are taken in
a turn: the next pair's loads are under way while one is worked out. Sizes beyond `BOUND`, no numbers, and for w what is
below `NEAR`, take a plain tanh.
"""

from typing import no_type_check

import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]

from regard.kernels.exponents_triton import BOUND, NEAR, largest_of
from regard.kernels.mask_triton import reach
from regard.kernels.math_triton import exponential, reciprocal, tanh

__all__ = ["gradient_kernel"]

# One kernel serves every length: these never make Triton compile another. (The width may: whether it divides by 16.)
LENGTHS = ["batch", "owns", "count", "others", "own_first", "other_first", "other_count", "parts", "low", "high"]


@triton.jit
@no_type_check
def slope(s, y, m, EXACT: tl.constexpr):
    """`s·r(1 - r)` of m = r - ½, or (EXACT) `16s·Y·r²` of m = 4r - 1; the rows' own X is left for the end.

    As r nears 1 it has lost the digits of 1 - r: sums and products of some units of 1 made it. r² has all of its own.
    As r nears 0 the 1 in m takes digits of r, twice as many from 2r - 1, which would be the tanh.
    """
    if EXACT:
        return (s + s * m) * (y + y * m)  # three multiply-adds with the sum; s·m is needed for w anyway
    else:  # noqa: RET505 (without it both ways would be compiled)
        return s * (0.25 - m * m)


@triton.jit
@no_type_check
def two_keys(acc, through, total, x, y1, y2, s1, s2, EXACT: tl.constexpr):
    """What two keys add to the gradients of a tile of queries, and to `through` and `total` for w."""
    ONE: tl.constexpr = 0.25 if EXACT else 1.0
    MIDDLE: tl.constexpr = 1.0 if EXACT else 0.5
    d1 = x * y1 + ONE
    d2 = x * y2 + ONE
    shared = reciprocal(d1 * d2)
    m1 = d2 * shared - MIDDLE  # one multiply-add
    m2 = d1 * shared - MIDDLE
    acc += slope(s1, y1, m1, EXACT)
    acc += slope(s2, y2, m2, EXACT)
    through += s1 * m1
    through += s2 * m2
    if EXACT:
        total += s1 + s2
    return acc, through, total


@triton.jit
@no_type_check
def one_key(acc, through, total, x, y, s, EXACT: tl.constexpr):
    ONE: tl.constexpr = 0.25 if EXACT else 1.0
    MIDDLE: tl.constexpr = 1.0 if EXACT else 0.5
    m = reciprocal(x * y + ONE) - MIDDLE
    acc += slope(s, y, m, EXACT)
    through += s * m
    if EXACT:
        total += s
    return acc, through, total


@triton.jit
@no_type_check
def two_queries(acc, x, inverse, y1, y2, z1, z2, s1, s2):
    """What two queries add to the gradients of a tile of keys; `z` is 1/y, `inverse` 1/x."""
    e1 = x * y1 + (inverse * z1 + 2.0)
    e2 = x * y2 + (inverse * z2 + 2.0)
    return acc + (s1 * e2 + s2 * e1) * reciprocal(e1 * e2)


@triton.jit(do_not_specialize=LENGTHS)
@no_type_check
def gradient_kernel(
    powers, sizes, own, other, slopes, w, out, partial, own_lengths, other_lengths,
    batch, owns, count, others, width, own_first, other_first, other_count, stride, slope_stride, parts, low, high,
    OWN_LENGTHS: tl.constexpr, OTHER_LENGTHS: tl.constexpr, POSITIONS: tl.constexpr,
    PARTIAL: tl.constexpr, N: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of queries (PARTIAL: with their part of that of w; the others are keys), or of keys (the
    others are queries): rows × features, one pass over the others. `slopes` are dE as [batch, other, own]; `powers`
    e^{2x} of the others, of queries e^{2x} and e^{-2x}, a row after the other; `sizes` the largest |x| of these."""
    blocks = tl.cdiv(width, F)
    down = tl.cdiv(count, N)
    i = tl.program_id(0) // blocks % down
    b = tl.program_id(0) // (blocks * down)
    b64 = b.to(tl.int64)
    rows = i * N + tl.arange(0, N)
    feats = tl.program_id(0) % blocks * F + tl.arange(0, F)
    inside = (rows[:, None] < count) & (feats[None, :] < width)
    tile = tl.load(own + (b64 * owns + own_first + rows[:, None]) * width + feats[None, :], mask=inside, other=0.0)
    tile = tile.to(tl.float32)
    start, stop = reach(b, own_first + i * N, own_first + i * N + N, others, low, high, own_lengths, other_lengths,
                        OWN_LENGTHS, OTHER_LENGTHS, POSITIONS)  # fmt: skip
    start = tl.maximum(start, other_first)
    stop = tl.maximum(tl.minimum(stop, other_first + other_count), start)
    slope_at = slopes + (b64 * other_count + start - other_first) * slope_stride + rows
    EXACT: tl.constexpr = own.dtype.element_ty == tl.float32
    acc = tl.zeros([N, F], dtype=tl.float32)
    # Σ dE·h, for w. Σ dE·r would be the same if Σ_k dE were 0, but rounding leaves something of it, which r, all of one
    # sign, would add up over the rows.
    through = tl.zeros([N, F], dtype=tl.float32)
    total = tl.zeros([N, 1], dtype=tl.float32)  # Σ dE: 4r - 1 is 4h + 1
    size = largest_of(sizes, b * parts, parts)
    size += tl.max(tl.max(tl.abs(tile).to(tl.int32, bitcast=True), 1), 0).to(tl.float32, bitcast=True)
    ranged = size <= BOUND  # not of a NaN
    if PARTIAL:
        ranged = ranged & (size >= NEAR)
    if ranged:
        STEP: tl.constexpr = 1 if PARTIAL else 2
        # A quarter of 1 + X·Y makes the reciprocal 4r.
        x = exponential(2.0 * tile) * (0.25 if PARTIAL and EXACT else 1.0)
        inverse = x if PARTIAL else exponential(-2.0 * tile)
        y_at = powers + (b64 * others + start) * STEP * stride + feats
        for _ in range((stop - start) // 4):
            for pair in tl.static_range(2):
                y1 = tl.load(y_at + pair * 2 * STEP * stride)[None, :]
                y2 = tl.load(y_at + (pair * 2 + 1) * STEP * stride)[None, :]
                s1 = tl.load(slope_at + pair * 2 * slope_stride)[:, None]
                s2 = tl.load(slope_at + (pair * 2 + 1) * slope_stride)[:, None]
                if PARTIAL:
                    acc, through, total = two_keys(acc, through, total, x, y1, y2, s1, s2, EXACT)
                else:
                    z1 = tl.load(y_at + (pair * 4 + 1) * stride)[None, :]
                    z2 = tl.load(y_at + (pair * 4 + 3) * stride)[None, :]
                    acc = two_queries(acc, x, inverse, y1, y2, z1, z2, s1, s2)
            y_at += 4 * STEP * stride
            slope_at += 4 * slope_stride
        # The rest counts its places anew: pointers from the loop above would have to change their layout (166 registers
        # a thread for 128).
        for o in range(stop - (stop - start) % 4, stop):
            at = powers + (b64 * others + o) * STEP * stride + feats
            y = tl.load(at)[None, :]
            s = tl.load(slopes + (b64 * other_count + o - other_first) * slope_stride + rows)[:, None]
            if PARTIAL:
                acc, through, total = one_key(acc, through, total, x, y, s, EXACT)
            else:
                z = tl.load(at + stride)[None, :]
                acc += s * reciprocal(x * y + (inverse * z + 2.0))
        if PARTIAL and EXACT:
            acc *= 0.25 * x
            through = 0.25 * (through - total)
    else:
        for o in range(start, stop):
            z = tl.load(other + (b64 * others + o) * width + feats, mask=feats < width, other=0.0).to(tl.float32)
            t = tanh(tile + z[None, :])
            s = tl.load(slope_at)[:, None]
            t = tl.where(s == 0.0, 0.0, t)  # what is hidden may be anything, even not a number
            acc += s * (0.25 - 0.25 * t * t)
            if PARTIAL:
                through -= s * 0.5 * t
            slope_at += slope_stride
    scale = 4.0 * tl.load(w + feats, mask=feats < width, other=0.0)
    place = (b64 * count + rows[:, None]) * width + feats[None, :]
    tl.store(out + place, (acc * scale[None, :]).to(out.dtype.element_ty), mask=inside)
    if PARTIAL:
        here = tl.sum(tl.where(rows[:, None] < count, through, 0.0), 0) * -2.0
        tl.store(partial + (b64 * down + i) * width + feats, here, mask=feats < width)
