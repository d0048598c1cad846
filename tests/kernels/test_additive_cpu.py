"""The blocked CPU path against float64."""

import pytest
import torch
from additive_cases import HOSTILE, Case, at_most_twice, cases, close, dropped, honest_about_nan, hostile
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from regard.kernels import additive_cpu
from regard.kernels.additive import additive_attention
from tiers import sweep_but, tries


@settings(max_examples=tries(60))
@given(case=cases(), small=st.sampled_from([0, additive_cpu.SMALL]))
def test_any_shape_and_mask(case: Case, small: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(additive_cpu, "SMALL", small)
        assert close(case.run("cpu", torch.float32), case.run("reference", torch.float64))


@settings(max_examples=tries(25))
@given(case=cases(largest=20))
def test_small_blocks_and_pieces_change_nothing(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(additive_cpu, "BLOCK", 60)
        patch.setattr(additive_cpu, "CHUNK", 100)
        assert close(case.run("cpu", torch.float32), case.run("reference", torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("small", [0, additive_cpu.SMALL])
@pytest.mark.parametrize("name", sweep_but(HOSTILE, "plain", "saturated"))
def test_at_most_twice_the_error(name: str, small: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(additive_cpu, "SMALL", small)
    at_most_twice(hostile(name, width=64 if small else 67), "cpu", dtype)


def test_a_nan_goes_through() -> None:
    honest_about_nan("cpu")


def test_dropout() -> None:
    dropped("cpu")


def test_nothing_of_query_by_key_by_feature_is_made() -> None:
    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            nonlocal largest
            out = func(*args, **(kwargs or {}))
            if isinstance(out, torch.Tensor):
                largest = max(largest, out.numel())
            return out

    q, k, v = (torch.randn(1, 300, 100, requires_grad=True) for _ in range(3))
    with pytest.MonkeyPatch.context() as patch, Watch():
        patch.setattr(additive_cpu, "BLOCK", 2**16)
        additive_attention(q, k, v, torch.randn(100), backend="cpu").sum().backward()
    assert largest <= 300 * 300
