"""A MaskSpec inside a kernel: `visible` names the pairs of `dense`, and `reach` leaves none of them out."""

import os
from typing import no_type_check

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.kernels.mask import PATTERNS, MaskSpec
from regard.kernels.mask_triton import arguments, reach, visible
from tiers import tries

place = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
@no_type_check
def draw(
    out, ends, lengths, query_lengths, allowed, query_positions, key_positions, queries, keys, low, high, skip,
    allowed_batch, allowed_query, LENGTHS: tl.constexpr, QUERY_LENGTHS: tl.constexpr, ALLOWED: tl.constexpr,
    POSITIONS: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    b, i = tl.program_id(0), tl.program_id(1)
    rows = i * Q + tl.arange(0, Q)[:, None]
    cols = tl.arange(0, K)[None, :]
    seen = visible(b, rows, cols, queries, keys, low, high, skip, lengths, query_lengths,
                   allowed, allowed_batch, allowed_query, query_positions, key_positions,
                   LENGTHS, QUERY_LENGTHS, ALLOWED, POSITIONS)  # fmt: skip
    tl.store(out + (b * queries + rows) * keys + cols, seen.to(tl.int8), mask=(rows < queries) & (cols < keys))
    start, stop = reach(b, i * Q, i * Q + Q, keys, low, high, query_lengths, lengths, QUERY_LENGTHS, LENGTHS, POSITIONS)
    tl.store(ends + (b * tl.num_programs(1) + i) * 2, start)
    tl.store(ends + (b * tl.num_programs(1) + i) * 2 + 1, stop)


@settings(max_examples=tries(25))
@given(
    pattern=st.sampled_from(sorted(PATTERNS)),
    width=st.integers(-1, 4),
    queries=st.integers(1, 12),
    keys=st.integers(1, 12),
    given_=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    seed=st.integers(0, 1000),
)
def test_the_kernel_sees_what_the_mask_says(
    pattern: str, width: int, queries: int, keys: int, given_: tuple[bool, ...], seed: int
) -> None:
    torch.manual_seed(seed)
    rows = queries if seed % 2 else 1
    options = {
        "lengths": torch.randint(0, keys + 1, (2,)),
        "query_lengths": torch.randint(0, queries + 1, (2,)),
        "mask": torch.rand(2, rows, keys) < 0.7,
        "positions": (torch.randint(0, 8, (2, queries)), torch.randint(0, 8, (2, keys))),
    }
    options = {name: one for (name, one), there in zip(options.items(), given_, strict=True) if there}
    spec = MaskSpec.of((2,), queries, keys, pattern=pattern, band=width, device=place, **options)  # type: ignore[arg-type]
    blocks = -(-queries // 4)
    out = torch.full((2, queries, keys), -1, dtype=torch.int8, device=place)
    ends = torch.zeros(2, blocks, 2, dtype=torch.int32, device=place)
    seen_by = arguments(spec, queries, keys)
    draw[(2, blocks)](out, ends, *seen_by.tensors, queries, keys, *seen_by.numbers, Q=4, K=16)
    expected = spec.dense(2, queries, keys, place)
    assert torch.equal(out.bool(), expected)
    for b in range(2):
        for i in range(blocks):
            start, stop = ends[b, i].tolist()
            seen = expected[b, 4 * i : 4 * i + 4].any(0).nonzero().flatten().tolist()
            assert 0 <= start <= stop
            assert start == stop or stop <= keys
            assert all(start <= key < stop for key in seen)
