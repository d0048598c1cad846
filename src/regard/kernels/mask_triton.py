"""A `Sight` inside a Triton kernel: its arguments, and which pairs of a tile are visible.

kernel[grid](…, **arguments(sight, queries, keys))      # the kernel names these parameters and hands them on
"""

from typing import Any, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.mask import Sight

__all__ = ["arguments", "visible"]


def arguments(sight: Sight, queries: int, keys: int) -> dict[str, Any]:
    """Keyword arguments for a kernel that calls `visible`; absent tensors are None and their flags False."""
    low, high, skip = sight.diagonal(queries, keys)
    allowed = None if sight.allowed is None else sight.allowed.contiguous().view(torch.uint8)
    steps = [0, 0]
    if allowed is not None:
        steps = [allowed.stride(axis) if allowed.shape[axis] > 1 else 0 for axis in (0, 1)]

    def whole(tensor: Tensor | None) -> Tensor | None:
        return None if tensor is None else tensor.contiguous()

    return {
        "low": low,
        "high": high,
        "skip": skip,
        "lengths": whole(sight.lengths),
        "query_lengths": whole(sight.query_lengths),
        "allowed": allowed,
        "allowed_batch": steps[0],
        "allowed_query": steps[1],
        "query_positions": whole(sight.query_positions),
        "key_positions": whole(sight.key_positions),
        "LENGTHS": sight.lengths is not None,
        "QUERY_LENGTHS": sight.query_lengths is not None,
        "ALLOWED": allowed is not None,
        "POSITIONS": sight.key_positions is not None,
    }


@triton.jit
@no_type_check
def visible(
    b,
    query,  # [rows, 1]
    key,  # [1, columns]
    queries,
    keys,
    low,
    high,
    skip,
    lengths,
    query_lengths,
    allowed,
    allowed_batch,
    allowed_query,
    query_positions,
    key_positions,
    LENGTHS: tl.constexpr,
    QUERY_LENGTHS: tl.constexpr,
    ALLOWED: tl.constexpr,
    POSITIONS: tl.constexpr,
):
    """Which of these pairs of batch row `b` are visible; pairs beyond the ends are not."""
    seen = (query < queries) & (key < keys)
    b64 = b.to(tl.int64)
    if POSITIONS:
        at_query = tl.load(query_positions + b64 * queries + query, mask=query < queries, other=0)
        at_key = tl.load(key_positions + b64 * keys + key, mask=key < keys, other=0)
        apart = (at_key - at_query).to(tl.int32)
    else:
        apart = key - query
    seen = seen & (apart >= low) & (apart <= high) & (apart != skip)
    if LENGTHS:
        seen = seen & (key < tl.load(lengths + b))
    if QUERY_LENGTHS:
        seen = seen & (query < tl.load(query_lengths + b))
    if ALLOWED:
        there = tl.load(allowed + b64 * allowed_batch + query.to(tl.int64) * allowed_query + key, mask=seen, other=0)
        seen = seen & (there != 0)
    return seen


@triton.jit
@no_type_check
def reach(
    b,
    first,  # the block of rows is [first, last), counted along its own axis
    last,
    others,  # how many there are along the other axis
    low,
    high,
    own_lengths,
    other_lengths,
    OWN_LENGTHS: tl.constexpr,
    OTHER_LENGTHS: tl.constexpr,
    POSITIONS: tl.constexpr,
):
    """The first and the last (excluded) row of the other axis that anything of this block may be paired with.
    `low` and `high` bound other - own: for blocks of keys give -high and -low."""
    start = 0
    stop = others
    if not POSITIONS:
        start = tl.maximum(start, first + tl.maximum(low, -others - first))
        stop = tl.minimum(stop, last + tl.minimum(high, others))
    if OTHER_LENGTHS:
        stop = tl.minimum(stop, tl.load(other_lengths + b).to(tl.int32))
    if OWN_LENGTHS:
        stop = tl.where(first < tl.load(own_lengths + b), stop, start)
    return start, tl.maximum(start, stop)
