"""The blocked CPU path against float64, block by block."""

import pytest
import torch
from feature_cases import HOSTILE, Case, at_most_twice, cases, close, honest_about_nan, hostile, poisoned
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from regard.kernels import feature_cpu
from tiers import sweep_but, tries


@settings(max_examples=tries(60))
@given(cases(), st.sampled_from([0, feature_cpu.SMALL]))
def test_agrees_with_float64(case, small):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feature_cpu, "SMALL", small)
        assert close(case.run("cpu", torch.float32), case.run("reference", torch.float64))


@settings(max_examples=tries(20))
@given(cases(largest=9))
def test_small_blocks_change_nothing(case):
    whole = case.run("cpu", torch.float32)
    size = feature_cpu.BLOCK
    feature_cpu.BLOCK = 37
    try:
        pieces = case.run("cpu", torch.float32)
    finally:
        feature_cpu.BLOCK = size
    for a, b in zip(pieces, whole, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("small", [0, feature_cpu.SMALL])
@pytest.mark.parametrize("name", sweep_but(HOSTILE, "plain", "saturated below"))
def test_error_at_most_twice_the_readable_paths(name, small, dtype, monkeypatch):
    monkeypatch.setattr(feature_cpu, "SMALL", small)
    at_most_twice(hostile(name, keys=22, width=64), "cpu", dtype)
    at_most_twice(hostile(name), "cpu", dtype)


@pytest.mark.parametrize("size", [0.5, 1.0, 1.4])
def test_error_where_one_minus_r_is_a_difference(size):
    torch.manual_seed(3)
    case = Case(*(size * torch.randn(2, n, 40) for n in (30, 50, 50)))
    at_most_twice(case, "cpu", torch.float32)


def test_what_is_hidden_may_hold_anything():
    poisoned("cpu")


def test_nan_goes_through():
    honest_about_nan("cpu")


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(feature_cpu, "BLOCK", 2**12)
    sizes = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            sizes.extend(t.numel() for t in (out if isinstance(out, tuple) else (out,)) if isinstance(t, torch.Tensor))
            return out

    case = Case(*(torch.randn(2, 48, 16) for _ in range(3)), {"pattern": "forward"})
    with Watch():
        case.run("cpu", torch.float32)
    assert max(sizes) <= 2**12 < 48 * 48 * 16
