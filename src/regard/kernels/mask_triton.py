"""A `MaskSpec` inside a Triton kernel: its arguments, and which pairs of a tile are visible.

seen = arguments(spec, queries, keys)
    kernel[grid](…, *seen.tensors, …, *seen.numbers)        # the kernel names these parameters and hands them on
"""

from dataclasses import dataclass
from typing import Any, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.mask import MaskSpec

__all__ = ["MaskArguments", "arguments", "reach", "visible"]


@dataclass(frozen=True)
class MaskArguments:
    """A spec as kernels take it: tensors (None where there is none), then numbers and switches."""

    tensors: tuple[Tensor | None, ...]  # lengths, query_lengths, allowed, query_positions, key_positions
    # low, high, skip, allowed_batch, allowed_query, LENGTHS, QUERY_LENGTHS, ALLOWED, POSITIONS
    numbers: tuple[Any, ...]
    types: tuple[torch.dtype | None, ...]  # of the tensors


def arguments(spec: MaskSpec, queries: int, keys: int) -> MaskArguments:
    """What a kernel that calls `visible` is given, in the order it names them."""
    low, high, skip = spec.diagonal(queries, keys)
    allowed, steps = spec.allowed, (0, 0)
    if allowed is not None:
        allowed = allowed.contiguous().view(torch.uint8)
        steps = (allowed.stride(0) if allowed.shape[0] > 1 else 0, allowed.stride(1) if allowed.shape[1] > 1 else 0)
    given = (spec.lengths, spec.query_lengths, allowed, spec.query_positions, spec.key_positions)
    return MaskArguments(
        tuple([None if one is None else one.contiguous() for one in given]),
        (low, high, skip, *steps, *[given[i] is not None for i in (0, 1, 2, 4)]),
        tuple([None if one is None else one.dtype for one in given]),
    )  # lists: quicker, and this is asked at every call


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
