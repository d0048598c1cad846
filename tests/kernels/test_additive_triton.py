"""The Triton kernels against float64: on a GPU where there is one, else through Triton's interpreter."""

import os

import pytest
import torch

from tiers import sweep_but, tries

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("with a GPU benchmarks/check_kernels.py checks the compiled kernels", allow_module_level=True)

from additive_cases import (
    HOSTILE,
    SIGHTS,
    Case,
    at_most_twice,
    at_once,
    cases,
    close,
    dropped,
    honest_about_nan,
    hostile,
    poisoned,  # noqa: F401 (a fixture for every test here)
)  # fmt: skip
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.kernels import additive_cpu, additive_triton
from regard.kernels.additive import additive_attention, additive_weights
from regard.kernels.launch_triton import Launch

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy speaks of overflow


@pytest.mark.sweep
@settings(max_examples=tries(8))
@given(case=cases(), short=st.booleans())
def test_any_shape_and_mask(case: Case, short: bool) -> None:
    """With few keys the answers come from the launch of the scores, and from launches of their own."""
    with pytest.MonkeyPatch.context() as patch:
        if not short:
            patch.setattr(additive_triton, "TILES", additive_triton.Tiles(short=()))
        assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


@pytest.mark.sweep
@settings(max_examples=tries(3))
@given(case=cases(largest=20))
def test_large_tiles(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        large = additive_triton.Tiles(queries=64, keys=64, far=(64, 64, 4), anchor=False)
        patch.setattr(additive_triton, "TILES", large)
        assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


@pytest.mark.sweep
def test_pieces_change_nothing() -> None:
    case = hostile("shut out", queries=140, keys=9, width=3, batch=1)  # 128 of them at once, at least
    case.options |= {"pattern": "causal", "lengths": torch.tensor([7]), "query_lengths": torch.tensor([133])}
    whole = case.run("triton", torch.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(additive_cpu, "CHUNK", 500)
        pieces = case.run("triton", torch.float32)
    assert close(pieces, [one.double() for one in whole], 1e-6)
    assert close(pieces, case.run("reference", torch.float64))


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of the kernels that are launched, as they are."""
    found, call = [], Launch.__call__

    def counted(launch: Launch, *tensors: torch.Tensor | None) -> None:
        found.append(launch.kernel.__name__)
        call(launch, *tensors)

    monkeypatch.setattr(Launch, "__call__", counted)
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_few_keys_take_two_launches(dtype: torch.dtype, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not weights are kept for a backward pass, and the answers are those of more launches."""
    q, k, v, w = *(torch.randn(2, time, 5).to(dtype) for time in (9, 13, 13)), torch.randn(5)
    alone = additive_attention(q, k, v, w, backend="triton")
    assert names == ["exponents_kernel", "scores_kernel"]
    kept = additive_attention(q, k, v.requires_grad_(), w, backend="triton")
    assert names == 2 * ["exponents_kernel", "scores_kernel"]
    assert torch.equal(alone, kept)
    monkeypatch.setattr(additive_triton, "TILES", additive_triton.Tiles(short=()))
    several = additive_attention(q, k, v.detach(), w, backend="triton")
    assert names[4:] == ["exponents_kernel", "scores_kernel", "softmax_kernel"]
    torch.testing.assert_close(alone, several)


@pytest.mark.parametrize(
    ("most", "launches"), sweep_but([(2 * 9 * 13 * 5, 4), (2 * 9 * 13 * 5 - 1, 5)], (2 * 9 * 13 * 5, 4))
)
@pytest.mark.parametrize(
    ("dtype", "dropout"), sweep_but([(torch.float32, 0.0), (torch.bfloat16, 0.2)], (torch.float32, 0.0))
)
@pytest.mark.sweep
def test_small_work_takes_a_launch_less(
    most: int, launches: int, dtype: torch.dtype, dropout: float, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its gradients are those of large work, to the last bit."""
    q, k, v = (torch.randn(2, time, 5).to(dtype).requires_grad_() for time in (9, 13, 13))
    w = torch.randn(5, requires_grad=True)

    def gradients(tile: additive_triton.Tiles) -> tuple[torch.Tensor, ...]:
        monkeypatch.setattr(additive_triton, "TILES", tile)
        torch.manual_seed(0)
        answer = additive_attention(q, k, v, w, dropout=dropout, backend="triton")
        names.clear()
        return torch.autograd.grad(answer, (q, k, v, w), torch.ones_like(answer))

    found = gradients(additive_triton.Tiles(together=most))
    assert len(names) == launches
    assert names.count("powers_kernel") == launches - 3
    for one, other in zip(found, gradients(additive_triton.Tiles(together=0)), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("name", "dtype"),
    sweep_but(
        [*((name, torch.float32) for name in HOSTILE), ("plain", torch.bfloat16), ("huge", torch.float16)],
        ("saturated", torch.float32),
    ),
)
def test_at_most_twice_the_error(name: str, dtype: torch.dtype) -> None:
    at_most_twice(hostile(name, queries=20, keys=35, width=35, batch=1), "triton", dtype)


def test_a_nan_goes_through() -> None:
    honest_about_nan("triton")


@pytest.mark.sweep
def test_dropout() -> None:
    dropped("triton")


def test_weights_on_demand() -> None:
    q, k, v, w = torch.randn(2, 9, 7), torch.randn(2, 35, 7), torch.randn(2, 35, 4), torch.randn(7)
    found = additive_weights(q, k, w, pattern="causal", rows=[1, 8], backend="triton")
    answer = additive_attention(q, k, v, w, pattern="causal", backend="triton")
    assert isinstance(found, torch.Tensor)
    assert torch.allclose(found @ v, answer[:, [1, 8]], atol=1e-5)


@pytest.mark.parametrize("name", sweep_but(SIGHTS, "bias", "lengths"))
def test_weights_of_all_rows_are_those_of_each(name: str) -> None:
    at_once(name, "triton")
