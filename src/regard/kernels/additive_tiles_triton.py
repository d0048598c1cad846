"""A tile of the scores of additive attention, and where a tile has all the keys, its answers. `additive_triton`
launches it.

With X = e^{2q} and Y = e^{2k}, made once a row, `tanh(q + k) = 1 - 2r` and `r = 1 / (1 + X·Y)`; two terms, or four of
them, share one reciprocal, `a₁/d₁ + a₂/d₂ = (a₁d₂ + a₂d₁) / (d₁d₂)`. The weights are folded into the factors, so that
a is 1 (`folded` in `exponents_triton`). A batch row whose |q| + |k| could leave the range of four factors (`FOURFOLD`),
and all of them where weights could not be folded, take two, one beyond two (`BOUND`), or that is no number, or so small
that 1 - 2r would lose digits (`NEAR`), a plain tanh; the kernel looks at the largest sizes itself, so that nothing
waits for the GPU.
"""

from typing import no_type_check

import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]

from regard.kernels.exponents_triton import BOUND, FOLDED, FOURFOLD, NEAR, size_of
from regard.kernels.mask_triton import reach, visible
from regard.kernels.math_triton import first_of, reciprocal, second_of, tanh
from regard.kernels.product_triton import exact_dot
from regard.kernels.softmax_triton import kept, weights_of

__all__ = ["scores_kernel"]

VALUES = tl.constexpr(64)  # of a value, summed together

# One kernel serves every length: these never make Triton compile another. (The width may: whether it divides by 16.)
LENGTHS_OF_ENERGIES = [
    "batch", "count", "queries", "keys", "width", "first", "groups", "low", "high", "skip",
    "bias_batch", "bias_query", "allowed_batch", "allowed_query", "q_parts", "k_parts", "dropout",
]  # fmt: skip


@triton.jit
@no_type_check
def two_factors(x_at, y_at, c):
    """c(1 + X·Y) of two features."""
    xs = tl.load(x_at)
    ys = tl.load(y_at)
    d1 = first_of(xs)[:, None] * first_of(ys)[None, :] + tl.load(c)
    d2 = second_of(xs)[:, None] * second_of(ys)[None, :] + tl.load(c + 1)
    return d1, d2


@triton.jit
@no_type_check
def sums(p, v, out, there, keys, values, Q: tl.constexpr, K: tl.constexpr):
    """The rows `there` of the weighted sums of so many `values`, with all the keys in one tile."""
    cols = tl.arange(0, K)[:, None]
    p = p.to(v.dtype.element_ty)
    for start in range(0, values, VALUES):
        each = start + tl.arange(0, VALUES)[None, :]
        some = tl.load(v + cols * values + each, mask=(cols < keys) & (each < values), other=0.0)
        total = exact_dot(p, some, tl.zeros([Q, VALUES], tl.float32)).to(v.dtype.element_ty)
        tl.store(out[:, None] + each, total, mask=there[:, None] & (each < values))


@triton.jit
@no_type_check
def tile(
    b, i, j, near, size, scale,
    x, y, table, q, k, w, bias, out, v, answer, seed, lengths, query_lengths, allowed, query_positions, key_positions,
    count, queries, keys, width, first, groups, x_stride, y_stride, stride, bias_batch, bias_query, low, high, skip,
    allowed_batch, allowed_query, values, dropout,
    LENGTHS: tl.constexpr, QUERY_LENGTHS: tl.constexpr, ALLOWED: tl.constexpr, POSITIONS: tl.constexpr,
    BIAS: tl.constexpr, ANCHOR: tl.constexpr, SHORT: tl.constexpr, KEEP: tl.constexpr, DROPOUT: tl.constexpr,
    Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """The i-th queries and the j-th keys of batch row b, with |q| + |k| up to `size`; `near`: four factors serve."""
    rows = i * Q + tl.arange(0, Q)
    cols = j * K + tl.arange(0, K)
    b64 = b.to(tl.int64)
    places = out + b64 * count * stride + rows[:, None] * stride + cols[None, :]
    from_key, to_key = reach(b, first + i * Q, first + i * Q + Q, keys, low, high, query_lengths, lengths,
                             QUERY_LENGTHS, LENGTHS, POSITIONS)  # fmt: skip
    here = j * K
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
            # w·r less w/2 is as small as w·tanh, and taken off eight features at a time, so that little is lost in the
            # long sum.
            c = table + group * FOLDED
            part = tl.zeros([Q, K], dtype=tl.float32) - tl.load(c + 16)
            for four in tl.static_range(2):
                d1, d2 = two_factors(x_at, y_at, c + four * 4)
                d3, d4 = two_factors(x_at + x_stride, y_at + y_stride, c + four * 4 + 2)
                p1 = d1 * d2
                p2 = d3 * d4
                part += ((d1 + d2) * p2 + (d3 + d4) * p1) * reciprocal(p1 * p2)
                x_at += 2 * x_stride
                y_at += 2 * y_stride
            acc += part
        acc *= scale
    elif (size >= NEAR) & (size <= BOUND):
        for group in range(groups):
            c = table + group * FOLDED
            part = tl.zeros([Q, K], dtype=tl.float32) - tl.load(c + 16)
            for pair in tl.static_range(4):
                d1, d2 = two_factors(x_at, y_at, c + pair * 2)
                n = tl.load(c + 8 + pair * 2) * d2 + tl.load(c + 9 + pair * 2) * d1
                part += n * reciprocal(d1 * d2)
                x_at += x_stride
                y_at += y_stride
            acc += part
        acc *= tl.where(scale > 0, scale, 1.0)
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
    scores = -2.0 * acc
    places_q, places_k = first + rows[:, None], cols[None, :]
    inside = (rows[:, None] < count) & (places_k < keys)
    if BIAS:
        at = bias + b64 * bias_batch + places_q.to(tl.int64) * bias_query + places_k
        scores += tl.load(at, mask=inside, other=0.0).to(tl.float32)
    seen = visible(b, places_q, places_k, queries, keys, low, high, skip, lengths, query_lengths,
                   allowed, allowed_batch, allowed_query, query_positions, key_positions,
                   LENGTHS, QUERY_LENGTHS, ALLOWED, POSITIONS)  # fmt: skip
    scores = tl.where(seen, scores, float("-inf"))
    if SHORT:
        p = weights_of(scores)
        if KEEP:
            tl.store(places, p, mask=inside)
        p *= kept(seed, b * queries + places_q, places_k, DROPOUT, dropout)
        rows_of_answer = answer + (b64 * count + rows) * values
        sums(p, v + b64 * keys * values, rows_of_answer, rows < count, keys, values, Q, K)
    else:
        tl.store(places, scores, mask=inside)


@triton.jit(do_not_specialize=LENGTHS_OF_ENERGIES)
@no_type_check
def scores_kernel(
    x, y, table, sizes, q, k, w, bias, out, v, answer, seed, lengths, query_lengths, allowed, query_positions,
    key_positions, batch, count, queries, keys, width, first, groups, x_stride, y_stride, stride, q_parts, k_parts,
    bias_batch, bias_query, low, high, skip, allowed_batch, allowed_query, values, dropout,
    LENGTHS: tl.constexpr, QUERY_LENGTHS: tl.constexpr, ALLOWED: tl.constexpr, POSITIONS: tl.constexpr,
    BIAS: tl.constexpr, ANCHOR: tl.constexpr, SHORT: tl.constexpr, KEEP: tl.constexpr, DROPOUT: tl.constexpr,
    FOUR: tl.constexpr, REST: tl.constexpr, TURNS: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A tile of scores; -inf where hidden. `count` queries from `first` on, of `queries` in all. SHORT: the tile has
    all the keys, so that the answers follow at once, and `out` gets weights instead of scores, if anything (KEEP).
    FOUR: of batch rows in the range of four factors; REST: of all others. One kernel for both holds the registers of
    both (164 for 128 a thread), one for each takes two launches; a program takes TURNS tiles, since most of those of
    REST will find that nothing is theirs."""
    across = tl.cdiv(keys, K)
    down = tl.cdiv(count, Q * TURNS)
    i = tl.program_id(0) // across % down * TURNS
    j = tl.program_id(0) % across
    b = tl.program_id(0) // (across * down)
    size = size_of(sizes, b, batch, q_parts, k_parts)
    scale = tl.load(table + 17)
    near = (size >= NEAR) & (size <= FOURFOLD) & (scale > 0)
    if FOUR != REST:  # noqa: SIM102 (asked of the compiler; in one question it would be asked of the GPU)
        if near != FOUR:
            return
    for turn in range(TURNS):
        tile(b, i + turn, j, near, size, scale, x, y, table, q, k, w, bias, out, v, answer, seed, lengths,
             query_lengths, allowed, query_positions, key_positions, count, queries, keys, width, first, groups,
             x_stride, y_stride, stride, bias_batch, bias_query, low, high, skip, allowed_batch, allowed_query, values,
             dropout, LENGTHS, QUERY_LENGTHS, ALLOWED, POSITIONS, BIAS, ANCHOR, SHORT, KEEP, DROPOUT, Q, K)  # fmt: skip
