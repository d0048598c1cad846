"""Feature-wise attention in Triton: a tile of queries and features walks over the keys.

The walk gives the answers and the sums of their weights, or the gradient of the queries. Accumulators stay in
registers; a chunk of keys that the whole tile sees, in the range of the products, goes without any mask.
"""

from typing import no_type_check

import triton
import triton.language as tl

from regard.kernels.feature_score_triton import grown, kept, row_hash, two
from regard.kernels.feature_walk_triton import CHUNK, FAR, PART, all_see, largest, listed, pair_seen, places, row, span

__all__ = ["walk_keys_kernel"]

# No new kernel for a new length; strides of a mask or a bias follow it too.
LENGTHS = ["Q", "K", "parts", "low", "high", "skip", "threshold", "a_b", "a_q", "e_b", "e_q", "time"]


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
            if FULL:
                den += w1 + w2  # half the steps of a long sum
            else:
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
    a_b, a_q, a_k, e_b, e_q, e_k, time,
    GRADIENT: tl.constexpr, KEEP: tl.constexpr, EXACT: tl.constexpr, WHOLE: tl.constexpr, RANGED: tl.constexpr,
    LENGTHED: tl.constexpr, QLENGTHED: tl.constexpr, PLACED: tl.constexpr, ALLOWED: tl.constexpr,
    BIASED: tl.constexpr, DROPPED: tl.constexpr, CHOSEN: tl.constexpr, PLACES: tl.constexpr,
    BT: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    """A tile of queries and features walks over the keys: the answers, or (GRADIENT) the gradient of the queries.
    KEEP: with the sums of the weights, for a backward pass. CHOSEN: Q chosen queries of `time` look at K chosen keys;
    `lengths_ptr` is their list, `y_ptr` the workspace (see `selected_feature_triton.py`), and only the tile's own rows
    of `q_ptr` and `out_ptr` lie where they always do."""
    blocks_f, blocks_q = tl.cdiv(F, BF), tl.cdiv(Q, BT)
    pid = tl.program_id(0)
    f = (pid % blocks_f) * BF + tl.arange(0, BF)
    q = (pid // blocks_f % blocks_q) * BT + tl.arange(0, BT)
    b = (pid // (blocks_f * blocks_q)).to(tl.int64)
    rows_ptr = lengths_ptr
    if CHOSEN:
        batch = (tl.num_programs(0) // (blocks_f * blocks_q)).to(tl.int64)
        plane = batch * K * F
        k_ptr = y_ptr + plane
        v_ptr = y_ptr + 2 * plane
        largest_ptr = y_ptr + 3 * plane
        g_ptr = largest_ptr + batch * parts * F
        d_ptr = g_ptr + plane
        exact_ptr = den_ptr + plane
        qlengths_ptr = lengths_ptr
        lengths_ptr, rows_ptr, _, qpos_ptr, kpos_ptr = listed(lengths_ptr, batch, Q, PLACES)
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
    own, written, filled = at, q < Q, parts
    if CHOSEN:  # the other rows of the answer were cleared beforehand
        own = b * time * F + tl.load(rows_ptr + b * Q + q, mask=row_there, other=0)[:, None] * F + f[None, :]
        written = row_there
        filled = tl.where(tl.min(q) < n_q, tl.cdiv(n_k, PART), 0)

    qp = q
    if PLACED:
        qp = tl.load(qpos_ptr + b * Q + q, mask=row_there, other=0).to(tl.int32)
        kpos_ptr += b * K
    qlo = tl.min(tl.where(row_there, qp, FAR))
    qhi = tl.max(tl.where(row_there, qp, -FAR))
    lo, hi = places(kpos_ptr, n_k, qlo + low, qhi + high, PLACED, RANGED)
    hi = tl.where(tl.min(q) < n_q, hi, 0)  # queries beyond their sentence walk nowhere

    x = tl.load(q_ptr + own, mask=there, other=0.0).to(tl.float32)
    reach = tl.max(tl.abs(x)) + largest(largest_ptr + b * parts * F, filled, f, F)
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

    write = written[:, None] & (f < F)[None, :]
    if GRADIENT:
        out = tl.where(there, 4.0 * num, 0.0)
    else:
        den = tl.where(there, den, 0.0)
        # `/` may be off by 2 units, as much as all the rest, and the backward pass subtracts the answer from values.
        out = tl.where(den == 0.0, 0.0, tl.div_rn(num, tl.where(den == 0.0, 1.0, den)) * keep_scale)
        if KEEP:
            tl.store(den_ptr + at, den, mask=write)
            if CHOSEN or (not EXACT):  # a half-precision answer is too coarse for the backward pass
                tl.store(exact_ptr + at, out, mask=write)
    tl.store(out_ptr + own, out.to(out_ptr.dtype.element_ty), mask=write)
