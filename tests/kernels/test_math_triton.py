"""The small functions of the kernels against float64."""

import os
from typing import no_type_check

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

import triton
import triton.language as tl

from regard.kernels.math_triton import exponential, first_of, packed, reciprocal, second_of, tanh

place = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@triton.jit
@no_type_check
def apply(x, out, count, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i, mask=i < count, other=1.0)
    tl.store(out + i, exponential(v), mask=i < count)
    tl.store(out + count + i, tanh(v), mask=i < count)
    tl.store(out + 2 * count + i, reciprocal(v), mask=i < count)
    both = packed(v, -2.0 * v)
    tl.store(out + 3 * count + i, first_of(both), mask=i < count)
    tl.store(out + 4 * count + i, second_of(both), mask=i < count)


def applied(x: torch.Tensor) -> torch.Tensor:
    out = torch.full((5, x.numel()), float("nan"), device=place)
    apply[(-(-x.numel() // 256),)](x.to(place), out, x.numel(), N=256)
    return out.cpu()


def test_exact_to_the_last_bits() -> None:
    x = torch.cat([torch.linspace(-84, 84, 5000), torch.linspace(-2, 2, 5000), torch.logspace(-30, 0, 500)])
    out, exact = applied(x), x.double()
    eps = torch.finfo(torch.float32).eps
    for found, true in zip(out, (exact.exp(), exact.tanh(), 1 / exact, exact, -2 * exact), strict=True):
        there = true.isfinite() & (true != 0)
        assert float(((found.double() - true) / true)[there].abs().max()) < 2.5 * eps
    assert torch.equal(out[3], x)
    assert torch.equal(out[4], -2 * x)


def test_far_out() -> None:
    out = applied(torch.tensor([1e4, -1e4, float("inf"), float("-inf"), float("nan"), 0.0]))
    assert out[1, :4].tolist() == [1, -1, 1, -1]
    assert out[1, 4].isnan()
    assert out[1, 5] == 0
