"""Feature-wise attention on a GPU: Triton kernels that never store anything of size query × key × feature.

With `r = 1/(1 + XY)`, `X = e^{2q/c}`, `Y = e^{2k/c}`, the energy is `c·tanh((q+k)/c) = c − 2c·r`, so a weight is
`exp(−2c·r)` over its sum (no running maximum: the exponent lies in (−2c, 0)). Two keys share one reciprocal,
`R = 1/(d₁d₂)`, `r₁ = d₂R`, `r₂ = d₁R`. Where `XY` could leave the range of float32 a tile adds `q + k` first and
takes `1/(1 + 2^z)` instead; each tile decides for itself, on the device, from the largest magnitudes.

Five kernels: `prepare` (X or Y once a row, and magnitudes), `answer` (a tile of queries, a loop over keys),
`query_gradient` (the same walk), `key_gradient` (a tile of keys, a loop over queries), `bias_gradient`.
`regard.kernels.feature` is the way in; the launchers at the end are what it calls.
"""

import math
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.mask import Sight
from regard.kernels.math_triton import reciprocal

__all__ = ["TILES", "backward", "forward"]

FAR = tl.constexpr(1 << 29)  # farther than any position; a Sight's own bounds may be added to it
CHUNK = tl.constexpr(32)  # rows walked over between two looks at whether all of them are visible
STEP = tl.constexpr(128)  # rows whose largest magnitude is kept as one number a feature
ROOM = 60.0  # bits: (1 + 2^60)² is well inside float32, and so is its reciprocal
LENGTHS = ["Q", "K", "T", "low", "high", "skip", "parts", "threshold"]  # no new kernel for a new length

TILES: dict[str, tuple[int, int, int]] = {  # rows, features, warps; found by benchmarks/check_feature.py
    "answer": (32, 64, 4),
    "query_gradient": (16, 64, 4),
    "key_gradient": (16, 64, 4),
    "bias_gradient": (16, 32, 4),
}


@triton.jit
@no_type_check
def grown(x, step, step_low):
    """e^{2x/c}, exact to the last bits for large x too: what rounding takes from the exponent is put back."""
    high = x * step
    low = tl.fma(x, step, -high) + x * step_low
    return tl.exp2(high) * (1.0 + low * 0.6931471805599453)


@triton.jit
@no_type_check
def settled(z):
    """`r = 1/(1 + 2^z)` and `1 − r` for any z, each to its last bits."""
    u = tl.exp2(-tl.abs(z))
    near = reciprocal(1.0 + u)
    far = u * near
    return tl.where(z > 0, far, near), tl.where(z > 0, near, far)


@triton.jit
@no_type_check
def two(x, y1, y2, see1, see2, step, decay, SAFE: tl.constexpr, FULL: tl.constexpr, EXACT: tl.constexpr,
        SLOPE: tl.constexpr):  # fmt: skip
    """Energies of a tile with two rows, in bits, and (SLOPE) a quarter of the tanh's slope, r(1 − r).
    What may not be seen (it may be NaN) must not reach its partner. EXACT (float32) takes one step of Newton's, which
    mends what sharing a reciprocal cost, and avoids the cancellation in 1 − r."""
    if SAFE:
        d1 = x * y1 + 1.0
        d2 = x * y2 + 1.0
        if not FULL:
            d1 = tl.where(see1, d1, 1.0)
            d2 = tl.where(see2, d2, 1.0)
        R = reciprocal(d1 * d2)
        if EXACT or SLOPE:
            r1 = d2 * R
            r2 = d1 * R
            if EXACT:
                r1 += r1 * (1.0 - d1 * r1)
                r2 += r2 * (1.0 - d2 * r2)
            e1 = 0.5 * decay - decay * r1  # centred: rounding is then relative to the energy itself
            e2 = 0.5 * decay - decay * r2
        else:
            R = R * -decay
            e1 = d2 * R + 0.5 * decay
            e2 = d1 * R + 0.5 * decay
        s1 = e1
        s2 = e2
        if SLOPE:
            if EXACT:
                s1 = x * y1 * r1 * r1
                s2 = x * y2 * r2 * r2
            else:
                s1 = r1 - r1 * r1
                s2 = r2 - r2 * r2
    else:
        r1, s1 = settled((x + y1) * step)
        r2, s2 = settled((x + y2) * step)
        e1 = 0.5 * decay - decay * r1
        e2 = 0.5 * decay - decay * r2
        s1 = s1 * r1
        s2 = s2 * r2
    return e1, e2, s1, s2


@triton.jit
@no_type_check
def mixed(h):
    """A good 32-bit mixing function (lowbias32, public domain)."""
    h = h ^ (h >> 16)
    h = h * 0x7FEB352D
    h = h ^ (h >> 15)
    h = h * 0x846CA68B
    return h ^ (h >> 16)


@triton.jit
@no_type_check
def row_hash(seed_ptr, row, f):
    """The part of dropout's hash that belongs to a query and a feature."""
    seed = tl.load(seed_ptr).to(tl.uint32)
    return mixed(mixed(tl.cast(row, tl.uint32) ^ seed) + tl.cast(f, tl.uint32) * 0x9E3779B9)


@triton.jit
@no_type_check
def kept(h, k, threshold):
    """Whether dropout keeps this weight: a fair draw for (query, feature) `h` and key `k`."""
    drawn = mixed(h + tl.cast(k, tl.uint32) * 0x85EBCA6B)
    return drawn.to(tl.int32, bitcast=True) >= threshold


@triton.jit
@no_type_check
def sees(qp, kp, low, high, skip, RANGED: tl.constexpr):
    """Whether position qp may look at position kp (either may be a vector), by the three numbers of a `Sight`."""
    apart = kp - qp
    ok = apart > -FAR
    if RANGED:
        ok = (apart >= low) & (apart <= high) & (apart != skip)
    return ok


@triton.jit
@no_type_check
def all_see(qlo, qhi, klo, khi, low, high, skip, RANGED: tl.constexpr):
    """Whether every position in [qlo, qhi] may look at every one in [klo, khi]."""
    ok = qlo <= qhi
    if RANGED:
        least = klo - qhi
        most = khi - qlo
        ok = ok & (least >= low) & (most <= high) & ((skip < least) | (skip > most))
    return ok


@triton.jit
@no_type_check
def places(ptr, n, lo, hi, PLACED: tl.constexpr, RANGED: tl.constexpr):
    """The range of rows whose positions reach from lo to hi, both included."""
    first = n * 0
    last = n
    if PLACED and RANGED:
        first = n
        last = n * 0
        for start in range(0, n, STEP):
            i = start + tl.arange(0, STEP)
            p = tl.load(ptr + i, mask=i < n, other=0)
            ok = (i < n) & (p >= lo) & (p <= hi)
            first = tl.minimum(first, tl.min(tl.where(ok, i, n)))
            last = tl.maximum(last, tl.max(tl.where(ok, i + 1, 0)))
    elif RANGED:
        first = tl.maximum(lo, 0)
        last = tl.minimum(hi + 1, n)
    return first, last


@triton.jit
@no_type_check
def largest(ptr, parts, f, F):
    """The largest magnitude among some features of one sentence, from `prepare`'s partial answers."""
    most = tl.zeros(f.shape, tl.float32)
    for part in range(parts):
        most = tl.maximum(most, tl.load(ptr + part * F + f, mask=f < F, other=0.0))
    return tl.max(most)


@triton.jit
@no_type_check
def row(ptr, i, f, F, WHOLE: tl.constexpr):
    """One row of [time, feature] as float32, `[1, features]`. WHOLE: no tile reaches beyond the last feature."""
    if WHOLE:
        x = tl.load(ptr + i * F + f)
    else:
        x = tl.load(ptr + i * F + f, mask=f < F, other=0.0)
    return x.to(tl.float32)[None, :]


@triton.jit
@no_type_check
def span(ptr, start, stop, PLACED: tl.constexpr):
    """The first and the last position among rows [start, stop), of which there are at most CHUNK."""
    if PLACED:
        i = start + tl.arange(0, CHUNK)
        p = tl.load(ptr + i, mask=i < stop, other=0).to(tl.int32)
        lo = tl.min(tl.where(i < stop, p, FAR))
        hi = tl.max(tl.where(i < stop, p, -FAR))
    else:
        lo = start
        hi = stop - 1
    return lo, hi


@triton.jit
@no_type_check
def pair_seen(own, own_there, other, p1, p2, low, high, skip, end, allowed_at, a_step, bias_at, e_step,
              OWN_ASKS: tl.constexpr, RANGED: tl.constexpr, ALLOWED: tl.constexpr, BIASED: tl.constexpr):  # fmt: skip
    """What a tile's rows (positions `own`) and two rows of the other side (positions p1, p2) may see of each other,
    and the bias between them. `other + 1` may be beyond the `end`."""
    if OWN_ASKS:
        see1 = sees(own, p1, low, high, skip, RANGED)
        see2 = sees(own, p2, low, high, skip, RANGED)
    else:
        see1 = sees(p1, own, low, high, skip, RANGED)
        see2 = sees(p2, own, low, high, skip, RANGED)
    second = own_there & (other + 1 < end)
    see2 = see2 & second
    e1 = 0.0
    e2 = 0.0
    if ALLOWED:
        see1 = see1 & (tl.load(allowed_at, mask=own_there, other=0) != 0)
        see2 = see2 & (tl.load(allowed_at + a_step, mask=second, other=0) != 0)
    if BIASED:
        bias1 = tl.load(bias_at, mask=own_there, other=0.0)
        bias2 = tl.load(bias_at + e_step, mask=second, other=0.0)
        see1 = see1 & (bias1 != float("-inf"))
        see2 = see2 & (bias2 != float("-inf"))
        e1 = bias1[:, None]
        e2 = bias2[:, None]
    return see1[:, None], see2[:, None], e1, e2


@triton.jit(do_not_specialize=LENGTHS)
@no_type_check
def prepare_kernel(
    x_ptr, grown_ptr, largest_ptr, lengths_ptr,
    grad_ptr, exact_ptr, den_ptr, g_ptr, d_ptr,
    T, F, step, step_low, keep_scale,
    LENGTHED: tl.constexpr, GRADIENT: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    """e^{2x/c} of some rows and their largest magnitude; for queries also `g = dO/den` and `D = g·O`."""
    part, block, b = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    n = T
    if LENGTHED:
        n = tl.minimum(tl.load(lengths_ptr + b).to(tl.int32), T)
    f = block * BF + tl.arange(0, BF)
    most = tl.zeros([8, BF], tl.float32)
    for start in range(part * STEP, tl.minimum(part * STEP + STEP, n), 8):
        i = start + tl.arange(0, 8)
        there = (i < n)[:, None] & (f < F)[None, :]
        at = b * T * F + i[:, None] * F + f[None, :]
        x = tl.load(x_ptr + at, mask=there, other=0.0).to(tl.float32)
        most = tl.maximum(most, tl.abs(x))
        tl.store(grown_ptr + at, grown(x, step, step_low), mask=there)
        if GRADIENT:
            den = tl.load(den_ptr + at, mask=there, other=1.0)
            grad = tl.load(grad_ptr + at, mask=there, other=0.0).to(tl.float32)
            g = tl.where(den == 0.0, 0.0, grad / tl.where(den == 0.0, 1.0, den))  # 0 for a query that saw nothing
            D = g * tl.load(exact_ptr + at, mask=there, other=0.0)
            tl.store(g_ptr + at, g * keep_scale, mask=there)
            tl.store(d_ptr + at, D, mask=there)
    parts = tl.num_programs(0)
    tl.store(largest_ptr + (b * parts + part) * F + f, tl.max(most, 0), mask=f < F)


@triton.jit
@no_type_check
def over_keys(
    start, stop, num, den, x, g, D, h, y_ptr, v_ptr, kpos_ptr, allowed_at, bias_at,
    q, qp, row_there, f, F, step, decay, low, high, skip, threshold, a_k, e_k,
    SAFE: tl.constexpr, FULL: tl.constexpr, GRADIENT: tl.constexpr, EXACT: tl.constexpr, WHOLE: tl.constexpr,
    RANGED: tl.constexpr, PLACED: tl.constexpr, ALLOWED: tl.constexpr, BIASED: tl.constexpr, DROPPED: tl.constexpr,
):  # fmt: skip
    """Keys [start, stop) of the walk, two at a time. FULL: an even number of them, all visible to the whole tile."""
    end = q * 0 + stop
    for k in range(start, stop, 2):
        k_next = k + 1
        if not FULL:
            k_next = tl.minimum(k + 1, stop - 1)  # the last may have no partner: any row will do, unseen
        y1 = row(y_ptr, k, f, F, WHOLE)
        y2 = row(y_ptr, k_next, f, F, WHOLE)
        v1 = row(v_ptr, k, f, F, WHOLE)
        v2 = row(v_ptr, k_next, f, F, WHOLE)
        see1 = True
        see2 = True
        if not FULL:
            p1 = k
            p2 = k + 1
            if PLACED:
                p1 = tl.load(kpos_ptr + k).to(tl.int32)
                p2 = tl.load(kpos_ptr + k_next).to(tl.int32)
            see1, see2, bias1, bias2 = pair_seen(
                qp, row_there, k, p1, p2, low, high, skip, end, allowed_at + k * a_k, a_k,
                bias_at + k * e_k, e_k, True, RANGED, ALLOWED, BIASED,
            )  # fmt: skip
        e1, e2, s1, s2 = two(x, y1, y2, see1, see2, step, decay, SAFE, FULL, EXACT, GRADIENT)
        if not FULL:
            e1 += bias1
            e2 += bias2
        w1 = tl.exp2(e1)
        w2 = tl.exp2(e2)
        if GRADIENT:
            o1 = g * v1
            o2 = g * v2
            if DROPPED:
                o1 = tl.where(kept(h, k, threshold), o1, 0.0)
                o2 = tl.where(kept(h, k + 1, threshold), o2, 0.0)
            o1 = o1 - D
            o2 = o2 - D
            w1 = w1 * s1
            w2 = w2 * s2
            if FULL:
                num += w1 * o1
                num += w2 * o2
            else:
                num += tl.where(see1, w1 * o1, 0.0)
                num += tl.where(see2, w2 * o2, 0.0)
        else:
            if not FULL:
                w1 = tl.where(see1, w1, 0.0)
                w2 = tl.where(see2, w2, 0.0)
                v1 = tl.where(see1, v1, 0.0)
                v2 = tl.where(see2, v2, 0.0)
            den += w1
            den += w2
            if DROPPED:
                w1 = tl.where(kept(h, k, threshold), w1, 0.0)
                w2 = tl.where(kept(h, k + 1, threshold), w2, 0.0)
            num += w1 * v1
            num += w2 * v2
    return num, den


@triton.jit(do_not_specialize=LENGTHS)
@no_type_check
def walk_keys_kernel(
    q_ptr, k_ptr, v_ptr, y_ptr, largest_ptr, g_ptr, d_ptr, den_ptr, out_ptr, exact_ptr,
    lengths_ptr, qlengths_ptr, qpos_ptr, kpos_ptr, allowed_ptr, bias_ptr, seed_ptr,
    Q, K, F, parts, step, step_low, decay, room, low, high, skip, threshold, keep_scale,
    a_b, a_q, a_k, e_b, e_q, e_k,
    GRADIENT: tl.constexpr, EXACT: tl.constexpr, WHOLE: tl.constexpr, RANGED: tl.constexpr,
    LENGTHED: tl.constexpr, QLENGTHED: tl.constexpr, PLACED: tl.constexpr, ALLOWED: tl.constexpr,
    BIASED: tl.constexpr, DROPPED: tl.constexpr, BT: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    """A tile of queries and features walks over the keys: the answers, or (GRADIENT) the gradient of the queries."""
    blocks_f, blocks_q = tl.cdiv(F, BF), tl.cdiv(Q, BT)
    pid = tl.program_id(0)
    f = (pid % blocks_f) * BF + tl.arange(0, BF)
    q = (pid // blocks_f % blocks_q) * BT + tl.arange(0, BT)
    b = (pid // (blocks_f * blocks_q)).to(tl.int64)
    n_q, n_k = Q, K
    if QLENGTHED:
        n_q = tl.minimum(tl.load(qlengths_ptr + b).to(tl.int32), Q)
    if LENGTHED:
        n_k = tl.minimum(tl.load(lengths_ptr + b).to(tl.int32), K)
    k_ptr += b * K * F
    v_ptr += b * K * F
    y_ptr += b * K * F
    allowed_at = allowed_ptr + b * a_b + q.to(tl.int64) * a_q
    bias_at = bias_ptr + b * e_b + q.to(tl.int64) * e_q
    at = b * Q * F + q[:, None] * F + f[None, :]
    row_there = q < n_q
    there = row_there[:, None] & (f < F)[None, :]

    qp = q
    if PLACED:
        qp = tl.load(qpos_ptr + b * Q + q, mask=row_there, other=0).to(tl.int32)
        kpos_ptr += b * K
    qlo = tl.min(tl.where(row_there, qp, FAR))
    qhi = tl.max(tl.where(row_there, qp, -FAR))
    lo, hi = places(kpos_ptr, n_k, qlo + low, qhi + high, PLACED, RANGED)
    hi = tl.where(tl.min(q) < n_q, hi, 0)  # queries beyond their sentence walk nowhere

    x = tl.load(q_ptr + at, mask=there, other=0.0).to(tl.float32)
    reach = tl.max(tl.abs(x)) + largest(largest_ptr + b * parts * F, parts, f, F)
    safe = reach * step <= room
    if safe:
        x = grown(x, step, step_low)
    num = tl.zeros([BT, BF], tl.float32)
    den = tl.zeros([BT, BF], tl.float32)
    g, D, h = x, x, x  # placeholders where they are not used
    if DROPPED:
        h = row_hash(seed_ptr, (b * Q + q)[:, None], f[None, :])
    if GRADIENT:
        g = tl.load(g_ptr + at, mask=there, other=0.0)
        D = tl.load(d_ptr + at, mask=there, other=0.0)

    for start in range(lo, hi, CHUNK):
        stop = tl.minimum(start + CHUNK, hi)
        klo, khi = span(kpos_ptr, start, stop, PLACED)
        full = safe & ((stop - start) % 2 == 0) & all_see(qlo, qhi, klo, khi, low, high, skip, RANGED)
        if ALLOWED or BIASED:
            full = safe & (stop < start)
        if full:
            num, den = over_keys(
                start, stop, num, den, x, g, D, h, y_ptr, v_ptr, kpos_ptr, allowed_at, bias_at, q, qp, row_there, f,
                F, step, decay, low, high, skip, threshold, a_k, e_k, True, True, GRADIENT, EXACT, WHOLE, RANGED,
                PLACED, ALLOWED, BIASED, DROPPED,
            )  # fmt: skip
        elif safe:
            num, den = over_keys(
                start, stop, num, den, x, g, D, h, y_ptr, v_ptr, kpos_ptr, allowed_at, bias_at, q, qp, row_there, f,
                F, step, decay, low, high, skip, threshold, a_k, e_k, True, False, GRADIENT, EXACT, WHOLE, RANGED,
                PLACED, ALLOWED, BIASED, DROPPED,
            )  # fmt: skip
        else:
            num, den = over_keys(
                start, stop, num, den, x, g, D, h, k_ptr, v_ptr, kpos_ptr, allowed_at, bias_at, q, qp, row_there, f,
                F, step, decay, low, high, skip, threshold, a_k, e_k, False, False, GRADIENT, EXACT, WHOLE, RANGED,
                PLACED, ALLOWED, BIASED, DROPPED,
            )  # fmt: skip

    write = (q < Q)[:, None] & (f < F)[None, :]
    if GRADIENT:
        out = tl.where(there, 4.0 * num, 0.0)
    else:
        den = tl.where(there, den, 0.0)
        out = tl.where(den == 0.0, 0.0, num / tl.where(den == 0.0, 1.0, den) * keep_scale)
        tl.store(den_ptr + at, den, mask=write)
        if not EXACT:  # a half-precision answer is too coarse for the backward pass
            tl.store(exact_ptr + at, out, mask=write)
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty), mask=write)


@triton.jit
@no_type_check
def over_queries(
    start, stop, dk, dv, y, v, x_ptr, g_ptr, d_ptr, qpos_ptr, allowed_at, bias_at, seed_ptr,
    first, k, kp, row_there, f, F, step, decay, low, high, skip, threshold, a_q, e_q,
    SAFE: tl.constexpr, FULL: tl.constexpr, EXACT: tl.constexpr, WHOLE: tl.constexpr,
    RANGED: tl.constexpr, PLACED: tl.constexpr, ALLOWED: tl.constexpr, BIASED: tl.constexpr, DROPPED: tl.constexpr,
):  # fmt: skip
    """Queries [start, stop) of the walk, two at a time. FULL: an even number of them, who all see the whole tile."""
    end = k * 0 + stop
    for q in range(start, stop, 2):
        q_next = q + 1
        if not FULL:
            q_next = tl.minimum(q + 1, stop - 1)
        x1 = row(x_ptr, q, f, F, WHOLE)
        x2 = row(x_ptr, q_next, f, F, WHOLE)
        g1 = row(g_ptr, q, f, F, WHOLE)
        g2 = row(g_ptr, q_next, f, F, WHOLE)
        D1 = row(d_ptr, q, f, F, WHOLE)
        D2 = row(d_ptr, q_next, f, F, WHOLE)
        see1 = True
        see2 = True
        if not FULL:
            p1 = q
            p2 = q + 1
            if PLACED:
                p1 = tl.load(qpos_ptr + q).to(tl.int32)
                p2 = tl.load(qpos_ptr + q_next).to(tl.int32)
            across = tl.cast(q, tl.int64)
            see1, see2, bias1, bias2 = pair_seen(
                kp, row_there, q, p1, p2, low, high, skip, end, allowed_at + across * a_q, a_q,
                bias_at + across * e_q, e_q, False, RANGED, ALLOWED, BIASED,
            )  # fmt: skip
        e1, e2, s1, s2 = two(y, x1, x2, see1, see2, step, decay, SAFE, FULL, EXACT, True)
        if not FULL:
            e1 += bias1
            e2 += bias2
        w1 = tl.exp2(e1)
        w2 = tl.exp2(e2)
        if not FULL:
            w1 = tl.where(see1, w1, 0.0)
            w2 = tl.where(see2, w2, 0.0)
            s1 = tl.where(see1, s1, 0.0)
            s2 = tl.where(see2, s2, 0.0)
        if DROPPED:
            keep1 = kept(row_hash(seed_ptr, first + q, f[None, :]), k[:, None], threshold)
            keep2 = kept(row_hash(seed_ptr, first + q + 1, f[None, :]), k[:, None], threshold)
            g1 = tl.where(keep1, g1, 0.0)
            g2 = tl.where(keep2, g2, 0.0)
        if FULL:
            dv += w1 * g1
            dv += w2 * g2
            dk += w1 * s1 * (g1 * v - D1)
            dk += w2 * s2 * (g2 * v - D2)
        else:  # a NaN in an unseen row of g or D must not come through 0 · NaN
            dv += tl.where(see1, w1 * g1, 0.0)
            dv += tl.where(see2, w2 * g2, 0.0)
            dk += tl.where(see1, w1 * s1 * (g1 * v - D1), 0.0)
            dk += tl.where(see2, w2 * s2 * (g2 * v - D2), 0.0)
    return dk, dv


@triton.jit(do_not_specialize=LENGTHS)
@no_type_check
def walk_queries_kernel(
    q_ptr, k_ptr, v_ptr, x_ptr, largest_ptr, g_ptr, d_ptr, dk_ptr, dv_ptr,
    lengths_ptr, qlengths_ptr, qpos_ptr, kpos_ptr, allowed_ptr, bias_ptr, seed_ptr,
    Q, K, F, parts, step, step_low, decay, room, low, high, skip, threshold,
    a_b, a_q, a_k, e_b, e_q, e_k,
    EXACT: tl.constexpr, WHOLE: tl.constexpr, RANGED: tl.constexpr,
    LENGTHED: tl.constexpr, QLENGTHED: tl.constexpr, PLACED: tl.constexpr, ALLOWED: tl.constexpr,
    BIASED: tl.constexpr, DROPPED: tl.constexpr, BT: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    """A tile of keys and features walks over the queries: the gradients of keys and values."""
    blocks_f, blocks_k = tl.cdiv(F, BF), tl.cdiv(K, BT)
    pid = tl.program_id(0)
    f = (pid % blocks_f) * BF + tl.arange(0, BF)
    k = (pid // blocks_f % blocks_k) * BT + tl.arange(0, BT)
    b = (pid // (blocks_f * blocks_k)).to(tl.int64)
    n_q, n_k = Q, K
    if QLENGTHED:
        n_q = tl.minimum(tl.load(qlengths_ptr + b).to(tl.int32), Q)
    if LENGTHED:
        n_k = tl.minimum(tl.load(lengths_ptr + b).to(tl.int32), K)
    q_ptr += b * Q * F
    x_ptr += b * Q * F
    g_ptr += b * Q * F
    d_ptr += b * Q * F
    allowed_at = allowed_ptr + b * a_b + k.to(tl.int64) * a_k
    bias_at = bias_ptr + b * e_b + k.to(tl.int64) * e_k
    at = b * K * F + k[:, None] * F + f[None, :]
    row_there = k < n_k
    there = row_there[:, None] & (f < F)[None, :]

    kp = k
    if PLACED:
        kp = tl.load(kpos_ptr + b * K + k, mask=row_there, other=0).to(tl.int32)
        qpos_ptr += b * Q
    klo = tl.min(tl.where(row_there, kp, FAR))
    khi = tl.max(tl.where(row_there, kp, -FAR))
    lo, hi = places(qpos_ptr, n_q, klo - high, khi - low, PLACED, RANGED)
    hi = tl.where(tl.min(k) < n_k, hi, 0)

    y = tl.load(k_ptr + at, mask=there, other=0.0).to(tl.float32)
    v = tl.load(v_ptr + at, mask=there, other=0.0).to(tl.float32)
    reach = tl.max(tl.abs(y)) + largest(largest_ptr + b * parts * F, parts, f, F)
    safe = reach * step <= room
    if safe:
        y = grown(y, step, step_low)
    dk = tl.zeros([BT, BF], tl.float32)
    dv = tl.zeros([BT, BF], tl.float32)
    first = b * Q

    for start in range(lo, hi, CHUNK):
        stop = tl.minimum(start + CHUNK, hi)
        qlo, qhi = span(qpos_ptr, start, stop, PLACED)
        full = safe & ((stop - start) % 2 == 0) & all_see(qlo, qhi, klo, khi, low, high, skip, RANGED)
        if ALLOWED or BIASED:
            full = safe & (stop < start)
        if full:
            dk, dv = over_queries(
                start, stop, dk, dv, y, v, x_ptr, g_ptr, d_ptr, qpos_ptr, allowed_at, bias_at, seed_ptr, first, k,
                kp, row_there, f, F, step, decay, low, high, skip, threshold, a_q, e_q, True, True, EXACT, WHOLE,
                RANGED, PLACED, ALLOWED, BIASED, DROPPED,
            )  # fmt: skip
        elif safe:
            dk, dv = over_queries(
                start, stop, dk, dv, y, v, x_ptr, g_ptr, d_ptr, qpos_ptr, allowed_at, bias_at, seed_ptr, first, k,
                kp, row_there, f, F, step, decay, low, high, skip, threshold, a_q, e_q, True, False, EXACT, WHOLE,
                RANGED, PLACED, ALLOWED, BIASED, DROPPED,
            )  # fmt: skip
        else:
            dk, dv = over_queries(
                start, stop, dk, dv, y, v, q_ptr, g_ptr, d_ptr, qpos_ptr, allowed_at, bias_at, seed_ptr, first, k,
                kp, row_there, f, F, step, decay, low, high, skip, threshold, a_q, e_q, False, False, EXACT, WHOLE,
                RANGED, PLACED, ALLOWED, BIASED, DROPPED,
            )  # fmt: skip

    write = (k < K)[:, None] & (f < F)[None, :]
    tl.store(dk_ptr + at, tl.where(there, 4.0 * dk, 0.0).to(dk_ptr.dtype.element_ty), mask=write)
    tl.store(dv_ptr + at, tl.where(there, dv, 0.0).to(dv_ptr.dtype.element_ty), mask=write)


@triton.jit(do_not_specialize=LENGTHS)
@no_type_check
def bias_gradient_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, d_ptr, bias_ptr, out_ptr, seed_ptr,
    Q, K, F, step, decay, threshold,
    DROPPED: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A tile of pairs walks over the features: what the energies of a pair, summed over features, would change."""
    blocks_k, blocks_q = tl.cdiv(K, BK), tl.cdiv(Q, BQ)
    pid = tl.program_id(0)
    k = (pid % blocks_k) * BK + tl.arange(0, BK)
    q = (pid // blocks_k % blocks_q) * BQ + tl.arange(0, BQ)
    b = (pid // (blocks_k * blocks_q)).to(tl.int64)
    pair = b * Q * K + q.to(tl.int64)[:, None] * K + k[None, :]
    there = (q < Q)[:, None] & (k < K)[None, :]
    e = tl.load(bias_ptr + pair, mask=there, other=float("-inf"))
    total = tl.zeros([BQ, BK], tl.float32)
    q_at = b * Q * F + q * F
    k_at = b * K * F + k * F
    for f in range(F):
        x = tl.load(q_ptr + q_at + f, mask=q < Q, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + q_at + f, mask=q < Q, other=0.0)
        D = tl.load(d_ptr + q_at + f, mask=q < Q, other=0.0)
        y = tl.load(k_ptr + k_at + f, mask=k < K, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + k_at + f, mask=k < K, other=0.0).to(tl.float32)
        r, _ = settled((x[:, None] + y[None, :]) * step)
        o = g[:, None] * v[None, :]
        if DROPPED:
            o = tl.where(kept(row_hash(seed_ptr, (b * Q + q)[:, None], f), k[None, :], threshold), o, 0.0)
        total += tl.exp2(e + (0.5 * decay - decay * r)) * (o - D[:, None])
    tl.store(out_ptr + pair, tl.where(e == float("-inf"), 0.0, total), mask=there)


class _Call:
    """What all kernels of one call share: sizes, constants, and the sight as pointers, strides and switches."""

    def __init__(
        self, q: Tensor, k: Tensor, scale: float, sight: Sight, bias: Tensor | None, dropout: float, seed: Tensor | None
    ) -> None:
        (self.batch, self.queries, self.features), self.keys = q.shape, k.shape[1]
        self.seed = q if seed is None else seed
        low, high, skip = sight.diagonal(self.queries, self.keys)
        allowed = None if sight.allowed is None or bias is not None else sight.allowed.view(torch.uint8)
        placed = sight.query_positions is not None and bias is None
        step = 2 * math.log2(math.e) / scale
        rounded = torch.tensor(step, dtype=torch.float32).item()
        self.growth = {"step": rounded, "step_low": step - rounded}
        self.decay = 2 * scale * math.log2(math.e)
        self.threshold = min(int(dropout * 2**32), 2**32 - 1) - 2**31  # as a signed number; see kept()
        self.dropped = dropout > 0
        self.keep_scale = 1 / (1 - dropout) if dropout < 1 else 0.0
        self.pointers = {
            "lengths_ptr": q if sight.lengths is None else sight.lengths.contiguous(),
            "qlengths_ptr": q if sight.query_lengths is None else sight.query_lengths.contiguous(),
            "qpos_ptr": q if sight.query_positions is None else sight.query_positions.contiguous(),
            "kpos_ptr": q if sight.key_positions is None else sight.key_positions.contiguous(),
            "allowed_ptr": q if allowed is None else allowed,
            "bias_ptr": q if bias is None else bias,
            "seed_ptr": self.seed,
        }
        self.numbers = {
            "Q": self.queries, "K": self.keys, "F": self.features, **self.growth, "decay": self.decay, "room": ROOM,
            "low": low, "high": high, "skip": skip, "threshold": self.threshold,
            **_strides("a", allowed), **_strides("e", bias),
        }  # fmt: skip
        self.switches = {
            "EXACT": q.dtype == torch.float32,
            "RANGED": bias is None and (sight.pattern != "none" or sight.band >= 0),
            "LENGTHED": sight.lengths is not None, "QLENGTHED": sight.query_lengths is not None, "PLACED": placed,
            "ALLOWED": allowed is not None, "BIASED": bias is not None, "DROPPED": self.dropped,
        }  # fmt: skip

    def prepare(self, x: Tensor, lengths: Tensor | None, gradient: tuple[Tensor, ...] = ()) -> tuple[Tensor, ...]:
        """e^{2x/c} and partial largest magnitudes of queries or keys; with `(dO, O, den)` also `g` and `D`."""
        batch, time, features = x.shape
        parts = triton.cdiv(time, STEP.value)
        width = 64
        out = torch.empty_like(x, dtype=torch.float32)
        most = x.new_empty((batch, parts, features), dtype=torch.float32)
        g, D = (torch.empty_like(out), torch.empty_like(out)) if gradient else (out, out)
        grad, exact, den = gradient or (x, x, x)
        prepare_kernel[(parts, triton.cdiv(features, width), batch)](
            x, out, most, x if lengths is None else lengths, grad, exact, den, g, D,
            T=time, F=features, **self.growth, keep_scale=self.keep_scale,
            LENGTHED=lengths is not None, GRADIENT=bool(gradient), BF=width,
        )  # fmt: skip
        return out, most, g, D

    def walk(self, kernel: Any, name: str, rows: int, **given: Any) -> None:
        height, width, warps = TILES[name]
        grid = (triton.cdiv(rows, height) * triton.cdiv(self.features, width) * self.batch,)
        numbers = {n: value for n, value in self.numbers.items() if n not in given}
        kernel[grid](
            **given, **self.pointers, **numbers, **self.switches, WHOLE=self.features % width == 0, BT=height,
            BF=width, num_warps=warps,
        )  # fmt: skip


def _strides(name: str, tensor: Tensor | None) -> dict[str, int]:
    """Strides over batch, query and key; 0 where an axis is shared."""
    if tensor is None:
        return dict.fromkeys((f"{name}_b", f"{name}_q", f"{name}_k"), 0)
    steps = (s if size > 1 else 0 for s, size in zip(tensor.stride(), tensor.shape, strict=True))
    return dict(zip((f"{name}_b", f"{name}_q", f"{name}_k"), steps, strict=True))


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    sight: Sight,
    bias: Tensor | None,
    dropout: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The answer, the same in float32 (empty where it is that already) and the sums of the weights.

    `bias` is in bits, its largest visible value in a row 0, and −inf where nothing may be seen (see `feature.py`).
    """
    call = _Call(q, k, scale, sight, bias, dropout, seed)
    y, most, *_ = call.prepare(k, sight.lengths)
    answer = torch.empty_like(q)
    den = torch.empty_like(q, dtype=torch.float32)
    exact = torch.empty_like(den) if q.dtype != torch.float32 else q.new_empty(0)
    call.walk(
        walk_keys_kernel, "answer", call.queries, q_ptr=q, k_ptr=k, v_ptr=v, y_ptr=y, largest_ptr=most, g_ptr=q,
        d_ptr=q, den_ptr=den, out_ptr=answer, exact_ptr=exact, parts=most.shape[1], keep_scale=call.keep_scale,
        GRADIENT=False,
    )  # fmt: skip
    return answer, exact, den


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, exact: Tensor, den: Tensor, scale: float, sight: Sight,
    bias: Tensor | None, dropout: float, seed: Tensor | None, bias_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v and, if asked for, of the energies summed over features (else empty)."""
    call = _Call(q, k, scale, sight, bias, dropout, seed)
    y, most_k, *_ = call.prepare(k, sight.lengths)
    x, most_q, g, D = call.prepare(q, sight.query_lengths, (grad, exact, den))
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    call.walk(
        walk_keys_kernel, "query_gradient", call.queries, q_ptr=q, k_ptr=k, v_ptr=v, y_ptr=y, largest_ptr=most_k,
        g_ptr=g, d_ptr=D, den_ptr=den, out_ptr=dq, exact_ptr=q, parts=most_k.shape[1], keep_scale=call.keep_scale,
        GRADIENT=True,
    )  # fmt: skip
    del y
    call.walk(
        walk_queries_kernel, "key_gradient", call.keys, q_ptr=q, k_ptr=k, v_ptr=v, x_ptr=x, largest_ptr=most_q,
        g_ptr=g, d_ptr=D, dk_ptr=dk, dv_ptr=dv, parts=most_q.shape[1],
    )  # fmt: skip
    if bias is None or not bias_gradient:
        return dq, dk, dv, q.new_empty(0)
    dbias = torch.zeros_like(bias, memory_format=torch.contiguous_format)
    height, width, warps = TILES["bias_gradient"]
    bias_gradient_kernel[(triton.cdiv(call.queries, height) * triton.cdiv(call.keys, width) * call.batch,)](
        q, k, v, g, D, bias, dbias, call.seed, call.queries, call.keys, call.features, call.growth["step"],
        call.decay, call.threshold, DROPPED=call.dropped, BQ=height, BK=width, num_warps=warps,
    )  # fmt: skip
    return dq, dk, dv, dbias
