# ruff: noqa: E402
"""The arithmetic of feature-wise attention's kernels: scores against float64, dropout's draw against the CPU's."""

import os
from typing import no_type_check

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
triton = pytest.importorskip("triton")

import triton.language as tl
from feature_cases import like_a_gpu

from regard.kernels.feature_cpu import kept as kept_on_cpu
from regard.kernels.feature_score_triton import grown, kept, row_hash, settled, two

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="benchmarks/check_feature.py does this on a GPU"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@triton.jit
@no_type_check
def scores(x_ptr, y_ptr, out_ptr, step, step_low, decay, SAFE: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y1, y2 = tl.load(x_ptr + i), tl.load(y_ptr + i), tl.load(y_ptr + N + i)
    if SAFE:
        x, y1, y2 = grown(x, step, step_low), grown(y1, step, step_low), grown(y2, step, step_low)
    e1, e2, s1, s2 = two(x, y1, y2, True, True, step, decay, SAFE, True, True, True)
    tl.store(out_ptr + i, e1)
    tl.store(out_ptr + N + i, e2)
    tl.store(out_ptr + 2 * N + i, s1)
    tl.store(out_ptr + 3 * N + i, s2)


@triton.jit
@no_type_check
def powers(x_ptr, out_ptr, step, step_low, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, grown(tl.load(x_ptr + i), step, step_low))


@triton.jit
@no_type_check
def draws(seed_ptr, out_ptr, threshold, K: tl.constexpr, F: tl.constexpr):
    k, f = tl.arange(0, K), tl.arange(0, F)
    h = row_hash(seed_ptr, tl.program_id(0), f[None, :])
    at = out_ptr + tl.program_id(0) * K * F + k[:, None] * F + f[None, :]
    tl.store(at, kept(h, k[:, None], threshold).to(tl.int8))


@triton.jit
@no_type_check
def both_sides(z_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    r, rest = settled(tl.load(z_ptr + i))
    tl.store(out_ptr + i, r)
    tl.store(out_ptr + N + i, rest)


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("size", [1.0, 20.0])
def test_two_rows_share_a_reciprocal_and_stay_exact(safe, size):
    x, y = size * torch.randn(64), size * torch.randn(2, 64)
    out = torch.empty(4, 64)
    step = 2 * torch.tensor(1.0).exp().log2().item() / 5
    rounded = torch.tensor(step).item()
    scores[(1,)](x, y, out, rounded, step - rounded, 25 * step, SAFE=safe, N=64)
    tanh = torch.tanh((x.double() + y.double()) / 5)
    true = torch.cat([5 * tanh / torch.tensor(2.0).double().log(), (1 - tanh**2) / 4])
    assert torch.allclose(out.double(), true, atol=3e-6)


@pytest.mark.parametrize("size", [1.0, 20.0, 100.0])
def test_powers_keep_their_last_bits_on_a_gpu(monkeypatch, size):
    like_a_gpu(monkeypatch)
    torch.manual_seed(0)
    x, out = size * (2 * torch.rand(4096) - 1), torch.empty(4096)
    step = 2 * torch.tensor(1.0).double().exp().log2().item() / 5
    rounded = torch.tensor(step).item()
    powers[(1,)](x, out, rounded, step - rounded, N=4096)
    off = (out.double() / (x.double() * 0.4).exp() - 1).abs() / torch.finfo(torch.float32).eps
    assert off.max() < 1.1
    assert off.square().mean().sqrt() < 0.4


def test_powers_of_no_number_are_none():
    x, out = torch.tensor([float("nan"), 0.0]), torch.empty(2)
    powers[(1,)](x, out, 0.5770780, 0.0, N=2)
    assert out.isnan().tolist() == [True, False]
    assert out[1] == 1


def test_both_sides_keep_their_last_bits():
    z = torch.tensor([-200.0, -30.0, -1.0, 0.0, 1.0, 30.0, 200.0, float("nan")])
    out = torch.empty(2, 8)
    both_sides[(1,)](z, out, N=8)
    true = torch.stack([1 / (1 + z.double().exp2()), 1 / (1 + (-z.double()).exp2())])
    assert torch.allclose(out.double(), true, rtol=1e-6, atol=1e-40, equal_nan=True)


def test_dropout_draws_as_the_cpu_does():
    seed, out = torch.tensor([123456789]), torch.empty(3, 8, 16, dtype=torch.int8)
    draws[(3,)](seed, out, int(0.4 * 2**32) - 2**31, K=8, F=16)
    assert torch.equal(out.bool(), kept_on_cpu(seed, 0.4, torch.arange(3), torch.arange(8), 16))
