"""The two kernels of additive attention: a tile of energies, and a tile of gradients. `additive_triton` launches them.

With X = e^{2q} and Y = e^{2k}, made once a row, `tanh(q + k) = 1 - 2r` and `r = 1 / (1 + X·Y)`; two terms, or four of
them, share one reciprocal, `w₁/d₁ + w₂/d₂ = (w₁d₂ + w₂d₁) / (d₁d₂)`. The gradients need 1 - tanh², which r near 1 has
lost: that is 4 / E, `E = X·Y + 1/(X·Y) + 2`, for the keys; for the queries, where w wants the tanh too, it is 4u² / X,
`u = 1 / (c + 1/(X·c))` of c = e^k, and `tanh = 2(c·u - ½)`. All of them are sums of positive numbers. Queries of half
precision have no such digits to lose: for them it is 4(¼ - m²), `tanh = 2m`, `m = ½ - r`, one multiplication less.
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
    x, y, q, k, w, sizes, bias, out, lengths, query_lengths, allowed, query_positions, key_positions,
    batch, count, queries, keys, width, first, groups, x_stride, y_stride, stride, q_parts, k_parts,
    bias_batch, bias_query, low, high, skip, allowed_batch, allowed_query,
    LENGTHS: tl.constexpr, QUERY_LENGTHS: tl.constexpr, ALLOWED: tl.constexpr, POSITIONS: tl.constexpr,
    BIAS: tl.constexpr, ANCHOR: tl.constexpr, FOUR: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A tile of energies; -inf where hidden. `count` queries from `first` on, of `queries` in all. FOUR: of batch rows
    in the range of four factors; else of all others. One kernel for both would hold the registers of both."""
    across = tl.cdiv(keys, K)
    down = tl.cdiv(count, Q)
    i = tl.program_id(0) // across % down
    b = tl.program_id(0) // (across * down)
    b64 = b.to(tl.int64)
    size = size_of(sizes, b, batch, q_parts, k_parts)
    if ((size >= NEAR) & (size <= FOURFOLD)) != FOUR:
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
    if FOUR:
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


@triton.jit(do_not_specialize=LENGTHS_OF_GRADIENTS)
@no_type_check
def gradient_kernel(
    own, other, powers, slopes, w, sizes, out, partial, own_lengths, other_lengths,
    batch, owns, count, others, width, own_first, other_first, other_count, stride, slope_stride, parts, low, high,
    OWN_LENGTHS: tl.constexpr, OTHER_LENGTHS: tl.constexpr, POSITIONS: tl.constexpr,
    PARTIAL: tl.constexpr, N: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of queries (the others are keys), or of keys (the others are queries): rows × features,
    one pass over the others, two of which share a reciprocal. `slopes` are dE as [batch, other, own]. `powers` are
    e^{2x} and e^{-2x} of the others; of keys, where the queries are float32, e^x and e^-x."""
    HALF: tl.constexpr = PARTIAL and own.dtype.element_ty != tl.float32
    FULL: tl.constexpr = PARTIAL and own.dtype.element_ty == tl.float32
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
    acc = tl.zeros([N, F], dtype=tl.float32)
    # Σ dE·tanh/2, for w. Σ dE·r would be the same if Σ_k dE were 0, but rounding leaves something of it, which r, all
    # of one sign, would add up over the rows.
    through = tl.zeros([N, F], dtype=tl.float32)
    size = largest_of(sizes, b * parts, parts)
    size += tl.max(tl.max(tl.abs(tile).to(tl.int32, bitcast=True), 1), 0).to(tl.float32, bitcast=True)
    if (size <= BOUND) & (size >= NEAR):  # not of a NaN
        inverse = exponential(-2.0 * tile)
        power = inverse if FULL else exponential(2.0 * tile)
        y_at = powers + (b64 * others + start) * 2 * stride + feats
        for _ in range((stop - start) // 2):
            y1 = tl.load(y_at)[None, :]
            y2 = tl.load(y_at + 2 * stride)[None, :]
            s1 = tl.load(slope_at)[:, None]
            s2 = tl.load(slope_at + slope_stride)[:, None]
            if HALF:
                d1 = power * y1 + 1.0
                d2 = power * y2 + 1.0
                shared = reciprocal(d1 * d2)
                m1 = 0.5 - d2 * shared
                m2 = 0.5 - d1 * shared
                acc += s1 * (0.25 - m1 * m1)
                acc += s2 * (0.25 - m2 * m2)
                through += s1 * m1
                through += s2 * m2
            else:
                z1 = tl.load(y_at + stride)[None, :]  # 1 / y
                z2 = tl.load(y_at + 3 * stride)[None, :]
                if FULL:
                    d1 = inverse * z1 + y1
                    d2 = inverse * z2 + y2
                    shared = reciprocal(d1 * d2)
                    u1 = d2 * shared
                    u2 = d1 * shared
                    acc += s1 * u1 * u1
                    acc += s2 * u2 * u2
                    through += s1 * (y1 * u1 - 0.5)
                    through += s2 * (y2 * u2 - 0.5)
                else:
                    e1 = power * y1 + (inverse * z1 + 2.0)
                    e2 = power * y2 + (inverse * z2 + 2.0)
                    acc += (s1 * e2 + s2 * e1) * reciprocal(e1 * e2)
            y_at += 4 * stride
            slope_at += 2 * slope_stride
        if (stop - start) % 2 == 1:
            y = tl.load(y_at)[None, :]
            z = tl.load(y_at + stride)[None, :]
            s = tl.load(slope_at)[:, None]
            if HALF:
                m = 0.5 - reciprocal(power * y + 1.0)
                acc += s * (0.25 - m * m)
                through += s * m
            elif FULL:
                u = reciprocal(inverse * z + y)
                acc += s * u * u
                through += s * (y * u - 0.5)
            else:
                acc += s * reciprocal(power * y + (inverse * z + 2.0))
        if FULL:
            acc *= inverse
    else:
        for o in range(start, stop):
            z = tl.load(other + (b64 * others + o) * width + feats, mask=feats < width, other=0.0).to(tl.float32)
            t = tanh(tile + z[None, :])
            s = tl.load(slope_at)[:, None]
            acc += s * (0.25 - 0.25 * t * t)
            if PARTIAL:
                through += s * 0.5 * t
            slope_at += slope_stride
    scale = 4.0 * tl.load(w + feats, mask=feats < width, other=0.0)
    place = (b64 * count + rows[:, None]) * width + feats[None, :]
    tl.store(out + place, (acc * scale[None, :]).to(out.dtype.element_ty), mask=inside)
    if PARTIAL:
        here = tl.sum(tl.where(rows[:, None] < count, through, 0.0), 0) * 2.0
        tl.store(partial + (b64 * down + i) * width + feats, here, mask=feats < width)
