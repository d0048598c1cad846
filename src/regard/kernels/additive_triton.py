"""Additive attention in Triton: `e_qk = Σ_f w_f tanh(q_f + k_f)` without anything of size query × key × feature.

With X = e^{2q} and Y = e^{2k}, made once a row, `tanh(q + k) = 1 - 2r` and `r = 1 / (1 + X·Y)`; two terms share one
reciprocal, `w₁/d₁ + w₂/d₂ = (w₁d₂ + w₂d₁) / (d₁d₂)`, and `1 - tanh² = 4r(1 - r)` serves the gradients. Where
|q| + |k| of a batch row could leave the range of the products (`BOUND`) or is no number, that row is computed with a
plain tanh instead; the kernel looks at the largest sizes itself, so nothing waits for the GPU.

Energies and weights are float32 `[batch, query, key]`. Beyond `CHUNK` of them the queries are taken in pieces, and
the backward pass computes a piece's weights again instead of keeping them.

    answer, weights = forward(q, k, v, w, None, Sight(pattern="causal"), 0.0, None)
"""

from dataclasses import dataclass
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.functional import pad

from regard.kernels.mask import Sight
from regard.kernels.mask_triton import arguments, reach, visible
from regard.kernels.math_triton import exponential, high, low, packed, reciprocal, tanh

__all__ = ["CHUNK", "Tiles", "backward", "forward", "tiles", "weights"]

CHUNK = 2**26  # energies held at once
BOUND = tl.constexpr(21.0)  # |q| + |k|: two factors of 1 + e^{2·21} have a finite, normal reciprocal
GROUP = 8  # features a step
WIDE = 64  # rows of energies and of features are padded to this, so that every load is aligned


@dataclass(frozen=True)
class Tiles:
    """Sizes of the tiles, in rows × columns, and the warps that share one."""

    queries: int = 64
    keys: int = 64
    warps: int = 4
    rows: int = 64  # gradients: rows × features
    features: int = 64
    grad_warps: int = 4
    anchor: bool = True


def tiles(batch: int, queries: int, keys: int) -> Tiles:
    """Large tiles reuse what they load; small problems need more of them to fill the GPU."""
    large = batch * triton.cdiv(queries, 64) * triton.cdiv(keys, 64) >= 512
    return Tiles() if large else Tiles(queries=32, keys=32, warps=2, rows=32, features=32, grad_warps=2)


@triton.jit(do_not_specialize=["time", "width", "pairs"])
@no_type_check
def exponents_kernel(source, out, sizes, time, width, pairs, stride, PACK: tl.constexpr, T: tl.constexpr, F: tl.constexpr):
    """e^{2x} of [batch, time, width], zero beyond the ends, and the largest |x| of each batch row (as bits, so that
    a NaN counts as the largest). PACK: pairs of features as words [batch, pair, stride]; else [batch, time, stride]."""
    b = tl.program_id(2)
    b64 = b.to(tl.int64)
    rows = tl.program_id(0) * T + tl.arange(0, T)[:, None]
    cols = tl.program_id(1) * F + tl.arange(0, F)[None, :]
    base = source + b64 * time * width + rows * width
    if PACK:
        even = tl.load(base + 2 * cols, mask=(rows < time) & (2 * cols < width), other=0.0).to(tl.float32)
        odd = tl.load(base + 2 * cols + 1, mask=(rows < time) & (2 * cols + 1 < width), other=0.0).to(tl.float32)
        bits = tl.maximum(tl.abs(even).to(tl.int32, bitcast=True), tl.abs(odd).to(tl.int32, bitcast=True))
        words = tl.trans(packed(exponential(2.0 * even), exponential(2.0 * odd)))
        across = tl.program_id(0) * T + tl.arange(0, T)[None, :]
        down = tl.program_id(1) * F + tl.arange(0, F)[:, None]
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
    of_queries = tl.load(sizes + b).to(tl.float32, bitcast=True)
    return of_queries + tl.load(sizes + batch + b).to(tl.float32, bitcast=True) <= BOUND


@triton.jit(do_not_specialize=["batch", "count", "queries", "keys", "width", "first", "groups", "low", "high", "skip"])
@no_type_check
def energies_kernel(
    x, y, q, k, w, sizes, bias, bias_batch, bias_query, out,
    batch, count, queries, keys, width, first, groups, x_stride, y_stride, stride,
    low, high, skip, lengths, query_lengths, allowed, allowed_batch, allowed_query, query_positions, key_positions,
    LENGTHS: tl.constexpr, QUERY_LENGTHS: tl.constexpr, ALLOWED: tl.constexpr, POSITIONS: tl.constexpr,
    BIAS: tl.constexpr, ANCHOR: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A tile of energies; -inf where hidden. `count` queries from `first` on, of `queries` in all."""
    across = tl.cdiv(keys, K)
    down = tl.cdiv(count, Q)
    i = tl.program_id(0) // across % down
    b = tl.program_id(0) // (across * down)
    b64 = b.to(tl.int64)
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
    if in_range(sizes, b, batch):
        x_at = x + b64 * groups * 4 * x_stride + first + rows
        y_at = y + b64 * groups * 4 * y_stride + cols
        for group in range(0, tl.where(needed, groups, 0)):
            half = 0.0
            for pair in tl.static_range(4):
                xs = tl.load(x_at)
                ys = tl.load(y_at)
                w1 = tl.load(w + group * 8 + pair * 2)
                w2 = tl.load(w + group * 8 + pair * 2 + 1)
                d1 = low_part(xs)[:, None] * low_part(ys)[None, :] + 1.0
                d2 = high_part(xs)[:, None] * high_part(ys)[None, :] + 1.0
                acc += (w1 * d2 + w2 * d1) * reciprocal(d1 * d2)
                half += w1 + w2
                x_at += x_stride
                y_at += y_stride
            acc -= 0.5 * half  # keeps the sum as small as that of the tanh themselves
    else:
        q_at = q + (b64 * queries + first + rows) * width
        k_at = k + (b64 * keys + cols) * width
        for f in range(0, tl.where(needed, width, 0)):
            of_query = tl.load(q_at + f, mask=rows < count, other=0.0).to(tl.float32)
            of_key = tl.load(k_at + f, mask=cols < keys, other=0.0).to(tl.float32)
            acc -= 0.5 * tl.load(w + f) * tanh(of_query[:, None] + of_key[None, :])
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


low_part, high_part = low, high  # the kernels above have bounds of these names


@triton.jit
@no_type_check
def kept(seed, row, column, DROPOUT: tl.constexpr, dropout):
    """What dropout multiplies a weight by: a function of the seed and the place alone."""
    if DROPOUT:
        word, _, _, _ = tl.philox(tl.load(seed), row + 0 * column, column + 0 * row, 0 * row + 0 * column, 0 * row + 0 * column)
        return tl.where(tl.uint_to_uniform_float(word) >= dropout, 1.0 / (1.0 - dropout), 0.0)
    else:
        return 1.0


@triton.jit(do_not_specialize=["rows", "count", "queries", "keys", "first"])
@no_type_check
def softmax_kernel(
    energies, out, rows, count, queries, keys, first, stride, seed, dropout,
    DROPOUT: tl.constexpr, COPY: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Energies become weights in place; COPY: `out` gets them as the matrix product wants them."""
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    at = energies + r.to(tl.int64) * stride
    top = tl.full([R, 1], float("-inf"), dtype=tl.float32)
    total = tl.zeros([R, 1], dtype=tl.float32)
    for c in range(0, keys, C):
        cols = c + tl.arange(0, C)[None, :]
        e = tl.load(at + cols, mask=(r < rows) & (cols < keys), other=float("-inf"))
        higher = tl.maximum(top, tl.max(e, 1)[:, None])
        base = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(top - base) + tl.sum(tl.exp(e - base), 1)[:, None]
        top = higher
    base = tl.where(top == float("-inf"), 0.0, top)
    scale = tl.where(total == 0.0, 0.0, 1.0 / total)  # 0: nothing was visible
    row = r // count * queries + first + r % count
    for c in range(0, keys, C):
        cols = c + tl.arange(0, C)[None, :]
        inside = (r < rows) & (cols < keys)
        e = tl.load(at + cols, mask=inside, other=float("-inf"))
        p = tl.where(e == float("-inf"), 0.0, tl.exp(e - base) * scale)
        tl.store(at + cols, p, mask=inside)
        if COPY:
            dropped = p * kept(seed, row, cols, DROPOUT, dropout)
            tl.store(out + r.to(tl.int64) * stride + cols, dropped.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows", "count", "queries", "keys", "first"])
@no_type_check
def softmax_backward_kernel(
    p_at, dp_at, de_at, out, rows, count, queries, keys, first, stride, seed, dropout,
    DROPOUT: tl.constexpr, COPY: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """dE = P ⊙ (dP - Σ_k P dP) with the weights' dropout; COPY: `out` gets the weights as in the forward pass."""
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    row = r // count * queries + first + r % count
    r64 = r.to(tl.int64)
    total = tl.zeros([R, 1], dtype=tl.float32)
    for c in range(0, keys, C):
        cols = c + tl.arange(0, C)[None, :]
        inside = (r < rows) & (cols < keys)
        p = tl.load(p_at + r64 * stride + cols, mask=inside, other=0.0)
        dp = tl.load(dp_at + r64 * keys + cols, mask=inside, other=0.0).to(tl.float32)
        total += tl.sum(p * dp * kept(seed, row, cols, DROPOUT, dropout), 1)[:, None]
    for c in range(0, keys, C):
        cols = c + tl.arange(0, C)[None, :]
        inside = (r < rows) & (cols < keys)
        p = tl.load(p_at + r64 * stride + cols, mask=inside, other=0.0)
        dp = tl.load(dp_at + r64 * keys + cols, mask=inside, other=0.0).to(tl.float32)
        keep = kept(seed, row, cols, DROPOUT, dropout)
        # Hidden keys have weight 0 and no gradient, not even in a row whose sum is no number.
        tl.store(de_at + r64 * stride + cols, tl.where(p == 0.0, 0.0, p * (dp * keep - total)), mask=inside)
        if COPY:
            tl.store(out + r64 * stride + cols, (p * keep).to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["batch", "owns", "count", "others", "width", "begin", "low", "high"])
@no_type_check
def gradient_kernel(
    own, other, powers, slopes, w, sizes, out, partial,
    batch, owns, count, others, width, own_first, other_first, other_count, stride, slope_stride,
    low, high, own_lengths, other_lengths,
    OWN_LENGTHS: tl.constexpr, OTHER_LENGTHS: tl.constexpr, POSITIONS: tl.constexpr,
    PARTIAL: tl.constexpr, N: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of queries (the others are keys), or of keys (the others are queries): rows × features,
    one pass over the others, two of which share a reciprocal. `slopes` are dE as [batch, other, own]."""
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
    through = tl.zeros([N, F], dtype=tl.float32)  # Σ dE·r, for w
    if in_range(sizes, b, batch):
        x = exponential(2.0 * tile)
        y_at = powers + (b64 * others + start) * stride + feats
        for _ in range(0, (stop - start) // 2):
            d1 = x * tl.load(y_at)[None, :] + 1.0
            d2 = x * tl.load(y_at + stride)[None, :] + 1.0
            shared = reciprocal(d1 * d2)
            r1 = d2 * shared
            r2 = d1 * shared
            s1 = tl.load(slope_at)[:, None]
            s2 = tl.load(slope_at + slope_stride)[:, None]
            acc += s1 * (r1 - r1 * r1)
            acc += s2 * (r2 - r2 * r2)
            if PARTIAL:
                through += s1 * r1
                through += s2 * r2
            y_at += 2 * stride
            slope_at += 2 * slope_stride
        if (stop - start) % 2 == 1:
            r = reciprocal(x * tl.load(y_at)[None, :] + 1.0)
            s = tl.load(slope_at)[:, None]
            acc += s * (r - r * r)
            if PARTIAL:
                through += s * r
    else:
        for o in range(start, stop):
            z = tl.load(other + (b64 * others + o) * width + feats, mask=feats < width, other=0.0).to(tl.float32)
            t = tanh(tile + z[None, :])
            s = tl.load(slope_at)[:, None]
            acc += s * (0.25 - 0.25 * t * t)
            if PARTIAL:
                through += s * (0.5 - 0.5 * t)
            slope_at += slope_stride
    scale = 4.0 * tl.load(w + feats, mask=feats < width, other=0.0)
    place = (b64 * count + rows[:, None]) * width + feats[None, :]
    tl.store(out + place, (acc * scale[None, :]).to(out.dtype.element_ty), mask=inside)
    if PARTIAL:  # Σ_k dE = 0, so that dE·(1 - 2r) sums to -2 Σ dE·r
        here = tl.sum(tl.where(rows[:, None] < count, through, 0.0), 0) * -2.0
        tl.store(partial + (b64 * down + i) * width + feats, here, mask=feats < width)
