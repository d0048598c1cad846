"""Feature-wise attention in Triton: a tile of keys and features walks over the queries, for the gradients of keys
and values. The mirror of `feature_keys_triton.py`.
"""

from typing import no_type_check

import triton
import triton.language as tl

from regard.kernels.feature_score_triton import grown, kept, row_hash, two
from regard.kernels.feature_walk_triton import CHUNK, FAR, PART, all_see, largest, listed, pair_seen, places, row, span

__all__ = ["walk_queries_kernel"]

# No new kernel for a new length; strides of a mask or a bias follow it too.
LENGTHS = ["Q", "K", "parts", "low", "high", "skip", "threshold", "a_b", "a_q", "e_b", "e_q", "time"]


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
    a_b, a_q, a_k, e_b, e_q, e_k, time,
    EXACT: tl.constexpr, WHOLE: tl.constexpr, RANGED: tl.constexpr,
    LENGTHED: tl.constexpr, QLENGTHED: tl.constexpr, PLACED: tl.constexpr, ALLOWED: tl.constexpr,
    BIASED: tl.constexpr, DROPPED: tl.constexpr, CHOSEN: tl.constexpr, PLACES: tl.constexpr,
    BT: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    """A tile of keys and features walks over the queries: the gradients of keys and values. CHOSEN: as in
    `walk_keys_kernel`, with `x_ptr` the workspace; the tile's own rows are those of k, v and their gradients."""
    blocks_f, blocks_k = tl.cdiv(F, BF), tl.cdiv(K, BT)
    pid = tl.program_id(0)
    f = (pid % blocks_f) * BF + tl.arange(0, BF)
    k = (pid // blocks_f % blocks_k) * BT + tl.arange(0, BT)
    b = (pid // (blocks_f * blocks_k)).to(tl.int64)
    rows_ptr = lengths_ptr
    if CHOSEN:
        batch = (tl.num_programs(0) // (blocks_f * blocks_k)).to(tl.int64)
        plane = batch * Q * F
        q_ptr = x_ptr + plane
        largest_ptr = x_ptr + 3 * plane
        g_ptr = largest_ptr + batch * parts * F
        d_ptr = g_ptr + plane
        qlengths_ptr = lengths_ptr
        lengths_ptr, _, rows_ptr, qpos_ptr, kpos_ptr = listed(lengths_ptr, batch, K, PLACES)
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
    written, filled = k < K, parts
    if CHOSEN:  # the other rows of the gradients were cleared beforehand
        at = b * time * F + tl.load(rows_ptr + b * K + k, mask=row_there, other=0)[:, None] * F + f[None, :]
        written = row_there
        filled = tl.where(tl.min(k) < n_k, tl.cdiv(n_q, PART), 0)

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
    reach = tl.max(tl.abs(y)) + largest(largest_ptr + b * parts * F, filled, f, F)
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

    write = written[:, None] & (f < F)[None, :]
    tl.store(dk_ptr + at, tl.where(there, 4.0 * dk, 0.0).to(dk_ptr.dtype.element_ty), mask=write)
    tl.store(dv_ptr + at, tl.where(there, dv, 0.0).to(dv_ptr.dtype.element_ty), mask=write)
