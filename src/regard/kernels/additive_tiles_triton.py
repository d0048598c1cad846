"""The two kernels of additive attention: a tile of energies, and a tile of gradients. `additive_triton` launches them.

With X = e^{2q} and Y = e^{2k}, made once a row, `tanh(q + k) = 1 - 2r` and `r = 1 / (1 + X·Y)`; two terms, or four of
them, share one reciprocal, `w₁/d₁ + w₂/d₂ = (w₁d₂ + w₂d₁) / (d₁d₂)`. The gradients take h = r - ½: `tanh = -2h` and
`1 - tanh² = 4(¼ - h²)`; of float32 inputs m = 4r - 1 and `1 - tanh² = 4X·Y·r²`, which needs no 1 - r (see `slope`).
A batch row whose |q| + |k| could leave the range of four factors (`FOURFOLD`) takes two, one beyond two (`BOUND`), or
that is no number, or so small that 1 - 2r would lose digits (`NEAR`), a plain tanh; the kernels look at the largest
sizes themselves, so that nothing waits for the GPU.
"""

from typing import no_type_check

import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]

from regard.kernels.exponents_triton import BOUND, FOURFOLD, NEAR, largest_of, size_of
from regard.kernels.mask_triton import reach, visible
from regard.kernels.math_triton import exponential, first_of, reciprocal, second_of, tanh

__all__ = ["energies_kernel", "gradient_kernel"]

# One kernel serves every length: these never make Triton compile another. (The width may: whether it divides by 16.)
LENGTHS_OF_ENERGIES = [
    "batch", "count", "queries", "keys", "width", "first", "groups", "low", "high", "skip",
    "bias_batch", "bias_query", "allowed_batch", "allowed_query", "q_parts", "k_parts",
]  # fmt: skip
LENGTHS_OF_GRADIENTS = [
    "batch", "owns", "count", "others", "own_first", "other_first", "other_count", "parts", "low", "high",
]  # fmt: skip


@triton.jit
@no_type_check
def two_terms(x_at, y_at, w):
    """`w₁/d₁ + w₂/d₂` of two features as numerator and denominator."""
    xs = tl.load(x_at)
    ys = tl.load(y_at)
    d1 = first_of(xs)[:, None] * first_of(ys)[None, :] + 1.0
    d2 = second_of(xs)[:, None] * second_of(ys)[None, :] + 1.0
    return tl.load(w) * d2 + tl.load(w + 1) * d1, d1 * d2


@triton.jit
@no_type_check
def eight(w):
    """The sum of eight numbers: w·r less w/2 is as small as w·tanh, and taken off eight features at a time, so that
    little is lost in the long sum."""
    total = 0.0
    for one in tl.static_range(8):
        total += tl.load(w + one)
    return total


@triton.jit(do_not_specialize=LENGTHS_OF_ENERGIES)
@no_type_check
def energies_kernel(
    x, y, sizes, q, k, w, bias, out, lengths, query_lengths, allowed, query_positions, key_positions,
    batch, count, queries, keys, width, first, groups, x_stride, y_stride, stride, q_parts, k_parts,
    bias_batch, bias_query, low, high, skip, allowed_batch, allowed_query,
    LENGTHS: tl.constexpr, QUERY_LENGTHS: tl.constexpr, ALLOWED: tl.constexpr, POSITIONS: tl.constexpr,
    BIAS: tl.constexpr, ANCHOR: tl.constexpr, FOUR: tl.constexpr, REST: tl.constexpr,
    Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A tile of energies; -inf where hidden. `count` queries from `first` on, of `queries` in all. FOUR: of batch rows
    in the range of four factors; REST: of all others. One kernel for both holds the registers of both (159 for 124 a
    thread), one for each takes two launches."""
    across = tl.cdiv(keys, K)
    down = tl.cdiv(count, Q)
    i = tl.program_id(0) // across % down
    b = tl.program_id(0) // (across * down)
    b64 = b.to(tl.int64)
    size = size_of(sizes, b, batch, q_parts, k_parts)
    near = (size >= NEAR) & (size <= FOURFOLD)
    if FOUR != REST:  # noqa: SIM102 (asked of the compiler; in one question it would be asked of the GPU)
        if near != FOUR:
            return
    rows = i * Q + tl.arange(0, Q)
    cols = tl.program_id(0) % across * K + tl.arange(0, K)
    places = out + b64 * count * stride + rows[:, None] * stride + cols[None, :]
    from_key, to_key = reach(b, first + i * Q, first + i * Q + Q, keys, low, high, query_lengths, lengths,
                             QUERY_LENGTHS, LENGTHS, POSITIONS)  # fmt: skip
    here = tl.program_id(0) % across * K
    needed = (here < to_key) & (here + K > from_key)
    if ANCHOR:  # loads nothing, but gives the tile the layout of a wide load instead of one column a thread
        acc = tl.load(places, mask=(rows[:, None] < 0) & (cols[None, :] < 0), other=0.0)
    else:
        acc = tl.zeros([Q, K], dtype=tl.float32)
    x_at = x + b64 * groups * 4 * x_stride + first + rows
    y_at = y + b64 * groups * 4 * y_stride + cols
    groups = tl.where(needed, groups, 0)
    if near:
        for group in range(groups):
            part = tl.zeros([Q, K], dtype=tl.float32) - 0.5 * eight(w + group * 8)
            for four in tl.static_range(2):
                n1, p1 = two_terms(x_at, y_at, w + group * 8 + four * 4)
                n2, p2 = two_terms(x_at + x_stride, y_at + y_stride, w + group * 8 + four * 4 + 2)
                part += (n1 * p2 + n2 * p1) * reciprocal(p1 * p2)
                x_at += 2 * x_stride
                y_at += 2 * y_stride
            acc += part
    elif (size >= NEAR) & (size <= BOUND):
        for group in range(groups):
            part = tl.zeros([Q, K], dtype=tl.float32) - 0.5 * eight(w + group * 8)
            for pair in tl.static_range(4):
                n, p = two_terms(x_at, y_at, w + group * 8 + pair * 2)
                part += n * reciprocal(p)
                x_at += x_stride
                y_at += y_stride
            acc += part
    else:
        q_at = q + (b64 * queries + first + rows) * width
        k_at = k + (b64 * keys + cols) * width
        part = tl.zeros([Q, K], dtype=tl.float32)
        for f in range(tl.where(needed, width, 0)):
            of_query = tl.load(q_at + f, mask=rows < count, other=0.0).to(tl.float32)
            of_key = tl.load(k_at + f, mask=cols < keys, other=0.0).to(tl.float32)
            part -= 0.5 * tl.load(w + f) * tanh(of_query[:, None] + of_key[None, :])
            if f % 8 == 7:  # eight at a time here too: one long sum loses digits
                acc += part
                part = tl.zeros([Q, K], dtype=tl.float32)
        acc += part
    energies = -2.0 * acc
    places_q, places_k = first + rows[:, None], cols[None, :]
    inside = (rows[:, None] < count) & (places_k < keys)
    if BIAS:
        at = bias + b64 * bias_batch + places_q.to(tl.int64) * bias_query + places_k
        energies += tl.load(at, mask=inside, other=0.0).to(tl.float32)
    seen = visible(b, places_q, places_k, queries, keys, low, high, skip, lengths, query_lengths,
                   allowed, allowed_batch, allowed_query, query_positions, key_positions,
                   LENGTHS, QUERY_LENGTHS, ALLOWED, POSITIONS)  # fmt: skip
    tl.store(places, tl.where(seen, energies, float("-inf")), mask=inside)


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


@triton.jit(do_not_specialize=LENGTHS_OF_GRADIENTS)
@no_type_check
def gradient_kernel(
    powers, sizes, own, other, slopes, w, out, partial, own_lengths, other_lengths,
    batch, owns, count, others, width, own_first, other_first, other_count, stride, slope_stride, parts, low, high,
    OWN_LENGTHS: tl.constexpr, OTHER_LENGTHS: tl.constexpr, POSITIONS: tl.constexpr,
    PARTIAL: tl.constexpr, N: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of queries (the others are keys), or of keys (the others are queries): rows × features,
    one pass over the others, two of which share a reciprocal. `slopes` are dE as [batch, other, own], `powers` e^{2x}
    of the others and `sizes` the largest of these."""
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
    ONE: tl.constexpr = 0.25 if EXACT else 1.0  # a quarter of 1 + X·Y makes the reciprocal 4r
    MIDDLE: tl.constexpr = 1.0 if EXACT else 0.5
    acc = tl.zeros([N, F], dtype=tl.float32)
    # Σ dE·h, for w. Σ dE·r would be the same if Σ_k dE were 0, but rounding leaves something of it, which r, all of one
    # sign, would add up over the rows.
    through = tl.zeros([N, F], dtype=tl.float32)
    total = tl.zeros([N, 1], dtype=tl.float32)  # Σ dE: 4r - 1 is 4h + 1
    size = largest_of(sizes, b * parts, parts)
    size += tl.max(tl.max(tl.abs(tile).to(tl.int32, bitcast=True), 1), 0).to(tl.float32, bitcast=True)
    if (size <= BOUND) & (size >= NEAR):  # not of a NaN
        x = exponential(2.0 * tile) * ONE
        y_at = powers + (b64 * others + start) * stride + feats
        for _ in range((stop - start) // 2):
            y1 = tl.load(y_at)[None, :]
            y2 = tl.load(y_at + stride)[None, :]
            d1 = x * y1 + ONE
            d2 = x * y2 + ONE
            shared = reciprocal(d1 * d2)
            m1 = d2 * shared - MIDDLE  # one multiply-add
            m2 = d1 * shared - MIDDLE
            s1 = tl.load(slope_at)[:, None]
            s2 = tl.load(slope_at + slope_stride)[:, None]
            acc += slope(s1, y1, m1, EXACT)
            acc += slope(s2, y2, m2, EXACT)
            if PARTIAL:
                through += s1 * m1
                through += s2 * m2
                if EXACT:
                    total += s1 + s2
            y_at += 2 * stride
            slope_at += 2 * slope_stride
        if (stop - start) % 2 == 1:
            y = tl.load(y_at)[None, :]
            m = reciprocal(x * y + ONE) - MIDDLE
            s = tl.load(slope_at)[:, None]
            acc += slope(s, y, m, EXACT)
            if PARTIAL:
                through += s * m
                if EXACT:
                    total += s
        if EXACT:
            acc *= 0.25 * x
            through = 0.25 * (through - total)
    else:
        for o in range(start, stop):
            z = tl.load(other + (b64 * others + o) * width + feats, mask=feats < width, other=0.0).to(tl.float32)
            t = tanh(tile + z[None, :])
            s = tl.load(slope_at)[:, None]
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
