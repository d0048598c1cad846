"""The Triton kernels against float64: on a GPU where there is one, else through Triton's interpreter."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("with a GPU benchmarks/check_kernels.py checks the compiled kernels", allow_module_level=True)

from additive_cases import HOSTILE, Case, at_most_twice, cases, close, dropped, honest_about_nan, hostile
from hypothesis import given, settings

from regard.kernels import additive_cpu, additive_triton
from regard.kernels.additive import additive_attention, additive_weights
from regard.kernels.launch_triton import Launch

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy speaks of overflow


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """Memory that nobody wrote holds NaN."""

    def empty(make):  # type: ignore[no-untyped-def]
        def made(*args, **kwargs):  # type: ignore[no-untyped-def]
            tensor = make(*args, **kwargs)
            return tensor.fill_(float("nan") if tensor.is_floating_point() else -1)

        return made

    with pytest.MonkeyPatch.context() as patch:
        for name in ("empty", "empty_like"):
            patch.setattr(torch, name, empty(getattr(torch, name)))
        patch.setattr(torch.Tensor, "new_empty", empty(torch.Tensor.new_empty))
        yield


@settings(max_examples=8)
@given(case=cases())
def test_any_shape_and_mask(case: Case) -> None:
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


@settings(max_examples=3)
@given(case=cases(largest=20))
def test_large_tiles(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        large = additive_triton.Tiles(queries=64, keys=64, far=(64, 64, 4), anchor=False)
        patch.setattr(additive_triton, "TILES", large)
        assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


def test_pieces_change_nothing() -> None:
    case = hostile("shut out", queries=70, keys=30, width=9)
    case.options |= {"pattern": "causal", "lengths": torch.tensor([30, 17]), "query_lengths": torch.tensor([70, 63])}
    whole = case.run("triton", torch.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(additive_cpu, "CHUNK", 1000)
        pieces = case.run("triton", torch.float32)
    assert close(pieces, [one.double() for one in whole], 1e-6)
    assert close(pieces, case.run("reference", torch.float64))


@pytest.mark.parametrize(("most", "launches"), [(2 * 9 * 13 * 5, 4), (2 * 9 * 13 * 5 - 1, 5)])
@pytest.mark.parametrize(("dtype", "dropout"), [(torch.float32, 0.0), (torch.bfloat16, 0.2)])
def test_small_work_takes_a_launch_less(
    most: int, launches: int, dtype: torch.dtype, dropout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its gradients are those of large work, to the last bit."""
    q, k, v = (torch.randn(2, time, 5).to(dtype).requires_grad_() for time in (9, 13, 13))
    w, call, names = torch.randn(5, requires_grad=True), Launch.__call__, []

    def counted(launch: Launch, *tensors: torch.Tensor | None) -> None:
        names.append(launch.kernel.__name__)
        call(launch, *tensors)

    def gradients(tile: additive_triton.Tiles) -> tuple[torch.Tensor, ...]:
        monkeypatch.setattr(additive_triton, "TILES", tile)
        torch.manual_seed(0)
        answer = additive_attention(q, k, v, w, dropout=dropout, backend="triton")
        names.clear()
        return torch.autograd.grad(answer, (q, k, v, w), torch.ones_like(answer))

    monkeypatch.setattr(Launch, "__call__", counted)
    found = gradients(additive_triton.Tiles(together=most))
    assert len(names) == launches
    assert names.count("powers_kernel") == launches - 3
    for one, other in zip(found, gradients(additive_triton.Tiles(together=0)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, torch.float32) for name in HOSTILE), ("plain", torch.bfloat16), ("huge", torch.float16)],
)
def test_at_most_twice_the_error(name: str, dtype: torch.dtype) -> None:
    # The interpreter rounds twice where a GPU has a fused multiply-add; there the promise is 2.
    at_most_twice(hostile(name, queries=20, keys=35, width=35), "triton", dtype, times=2.5)


def test_a_nan_goes_through() -> None:
    honest_about_nan("triton")


def test_dropout() -> None:
    dropped("triton")


def test_weights_on_demand() -> None:
    q, k, v, w = torch.randn(2, 9, 7), torch.randn(2, 35, 7), torch.randn(2, 35, 4), torch.randn(7)
    found = additive_weights(q, k, w, pattern="causal", rows=[1, 8], backend="triton")
    answer = additive_attention(q, k, v, w, pattern="causal", backend="triton")
    assert isinstance(found, torch.Tensor)
    assert torch.allclose(found @ v, answer[:, [1, 8]], atol=1e-5)


@pytest.mark.parametrize("name", ["lengths", "band", "mask", "bias", "positions"])
def test_weights_of_all_rows_are_those_of_each(name: str) -> None:
    """All at once they are not picked out, and what they see is told to the kernel as it is."""
    q, k, w = torch.randn(2, 6, 7), torch.randn(2, 9, 7), torch.randn(7)
    options: dict[str, Any] = {
        "lengths": {"lengths": torch.tensor([9, 0]), "query_lengths": torch.tensor([6, 2])},
        "band": {"pattern": "causal", "band": 2},
        "mask": {"mask": torch.rand(2, 6, 9) < 0.5},
        "bias": {"bias": torch.randn(1, 9), "pattern": "not_self"},
        "positions": {"positions": (torch.randint(9, (2, 6)), torch.randint(9, (2, 9))), "pattern": "forward"},
    }[name]
    every = additive_weights(q, k, w, backend="triton", **options)
    torch.testing.assert_close(
        every, additive_weights(q, k, w, rows=range(6), backend="triton", **options), rtol=0, atol=0
    )
    torch.testing.assert_close(every, additive_weights(q, k, w, backend="reference", **options))
