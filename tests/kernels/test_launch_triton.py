"""A launch gives its kernel the tensors, numbers and constants it was made with, every time it is called."""

import os
from typing import no_type_check

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

import triton
import triton.language as tl

from regard.kernels.launch_triton import Launch, blocks

place = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
@no_type_check
def scale_kernel(x, bias, out, n, factor, BIAS: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    y = tl.load(x + i, mask=i < n, other=0.0) * factor
    if BIAS:
        y += tl.load(bias + i, mask=i < n, other=0.0)
    tl.store(out + i, y, mask=i < n)


def test_again_and_again() -> None:
    launch = Launch(scale_kernel, (blocks(20, 16),), (20, 3.0), (False, 16))
    for _ in range(3):
        x, out = torch.randn(20, device=place), torch.empty(20, device=place)
        launch(x, None, out)
        assert torch.equal(out, 3 * x)
    other = Launch(scale_kernel, (blocks(5, 16),), (5, 2.0), (True, 16))
    x, out = torch.randn(5, device=place), torch.empty(5, device=place)
    other(x, x, out)
    torch.testing.assert_close(out, 3 * x)


def test_an_address_that_does_not_divide_by_16() -> None:
    launch = Launch(scale_kernel, (2,), (20, 3.0), (False, 16))
    x, out = torch.randn(21, device=place), torch.empty(20, device=place)
    launch(x[:20], None, out)
    launch(x[1:], None, out)
    assert torch.equal(out, 3 * x[1:])


def test_blocks() -> None:
    assert [blocks(size, 4) for size in (1, 4, 5)] == [1, 1, 2]
