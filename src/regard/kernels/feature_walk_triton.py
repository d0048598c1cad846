"""What a tile of feature-wise attention needs on its walk over the other side's rows, in Triton: which of them it
may see (by the three numbers of a `MaskSpec`, see `mask.py`), which chunks it sees whole, and their loads.
"""

from typing import no_type_check

import triton
import triton.language as tl

__all__ = ["CHUNK", "FAR", "PART", "STEP", "all_see", "largest", "listed", "pair_seen", "places", "row", "sees", "span"]

FAR = tl.constexpr(1 << 29)  # farther than any position; a MaskSpec's own bounds may be added to it
CHUNK = tl.constexpr(32)  # rows walked over between two looks at whether all of them are visible
STEP = tl.constexpr(128)  # rows whose largest magnitude is kept as one number a feature
PART = tl.constexpr(32)  # the same among chosen rows, which are fetched by many small programs


@triton.jit
@no_type_check
def sees(qp, kp, low, high, skip, RANGED: tl.constexpr):
    """Whether position qp may look at position kp (either may be a vector), by the three numbers of a `MaskSpec`."""
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
def listed(ptr, batch, room, PLACES: tl.constexpr):
    """The list of chosen rows (see `selected_feature_triton.py`): where the counts of the keys begin, the rows of the
    queries and of the keys, and the positions of both."""
    rows = ptr + 2 * batch
    side = batch * room
    at = rows
    if PLACES:
        at = rows + 2 * side
    return ptr + batch, rows, rows + side, at, at + side


@triton.jit
@no_type_check
def row(ptr, i, f, F, WHOLE: tl.constexpr):
    """One row of [time, feature] as float32, `[1, features]`. WHOLE: no tile reaches beyond the last feature."""
    mask = None if WHOLE else f < F
    return tl.load(ptr + i * F + f, mask=mask, other=None if WHOLE else 0.0).to(tl.float32)[None, :]


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
