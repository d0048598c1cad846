"""The Triton kernels against float64: on a GPU where there is one, else through Triton's interpreter."""

import os

import pytest
import torch

from tiers import sweep_but, tries

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from feature_cases import (
    HOSTILE,
    Case,
    at_most_twice,
    cases,
    close,
    error,
    honest_about_nan,
    hostile,
    like_a_gpu,
    poisoned,
)
from hypothesis import HealthCheck, given, settings

from regard.kernels import feature_triton

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="benchmarks/check_feature.py does this on a GPU"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # the interpreter is NumPy, which remarks on every overflow
]


@pytest.fixture
def _small_tiles(monkeypatch):
    for name in ("answer", "query_gradient", "key_gradient", "bias_gradient"):
        monkeypatch.setitem(feature_triton.TILES, name, (8, 8, 4))


def test_tiles_that_reach_beyond_the_last_feature_have_more_warps():
    whole, ragged = (feature_triton.tile("answer", features) for features in (320, 300))
    assert whole == feature_triton.TILES["answer"]
    assert ragged == (*whole[:2], 2 * whole[2])
    assert feature_triton.tile("key_gradient", 300) == feature_triton.TILES["key_gradient"]


def test_the_interpreter_is_on():
    assert type(feature_triton.walk_keys_kernel).__name__ == "InterpretedFunction"


@pytest.mark.sweep
@pytest.mark.usefixtures("_small_tiles")
@settings(max_examples=tries(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases(largest=10))
def test_agrees_with_float64(case):
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


@pytest.mark.sweep
@settings(max_examples=tries(4))
@given(cases(largest=10))
def test_agrees_in_half_precision(case):
    case = Case(case.q.half(), case.k.half(), case.v.half(), case.options)
    assert close(case.run("triton", torch.float16), case.run("reference", torch.float64), tolerance=4e-3)


@pytest.mark.parametrize("name", sweep_but(HOSTILE, "cancelling"))
def test_error_at_most_twice_the_readable_paths(name):
    at_most_twice(hostile(name), "triton", torch.float32)
    if name in ("plain", "huge"):
        at_most_twice(hostile(name), "triton", torch.float16)


@pytest.mark.sweep
def test_longer_than_one_part_of_the_magnitudes():
    case = Case(torch.randn(1, 3, 5), torch.randn(1, 131, 5), torch.randn(1, 131, 5), {"lengths": torch.tensor([130])})
    case.k[0, 129, 2] = 900.0  # only the second part knows
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


def test_what_is_hidden_may_hold_anything():
    poisoned("triton")


def test_nan_goes_through():
    honest_about_nan("triton")


@pytest.mark.sweep
@pytest.mark.parametrize("biased", [False, True])
def test_error_of_a_gpu_s_numbers_at_most_twice(monkeypatch, biased):
    """Small shapes, several draws together. A bias makes few keys heavy: the sum over the others must cancel."""
    like_a_gpu(monkeypatch)
    squares = torch.zeros(2, 5 if biased else 4)
    for seed in range(3):
        torch.manual_seed(seed)
        keys = 9 if biased else 24
        options = {"bias": 3 * torch.randn(1, 16, keys)} if biased else {}
        case = Case(torch.randn(1, 16, 32), torch.randn(1, keys, 32), torch.randn(1, keys, 32), options)
        true = case.run("reference", torch.float64)
        squares += torch.tensor([error(case.run(way, torch.float32), true) for way in ("triton", "reference")]).square()
    ratios = (squares[0] / squares[1]).sqrt()
    assert (ratios < 2).all(), ratios


def test_what_one_key_answers_is_its_value(monkeypatch):
    """The weights are 1 then; a sum of weights that is divided by carelessly leaves something else."""
    like_a_gpu(monkeypatch)
    torch.manual_seed(0)
    case = Case(torch.randn(1, 1, 300), torch.randn(1, 1, 300), torch.randn(1, 1, 300))
    (answer, _, _, dv), (true, _, _, pull) = (
        case.run(way, kind) for way, kind in (("triton", torch.float32), ("reference", torch.float64))
    )
    for found, exact in ((answer, true), (dv, pull)):
        assert ((found.double() - exact).abs() <= 1.01 * torch.finfo(torch.float32).eps * exact.abs()).all()


def test_the_gradient_of_a_bias_far_out():
    torch.manual_seed(0)
    case = Case(
        400 * torch.randn(2, 3, 5), 400 * torch.randn(2, 4, 5), torch.randn(2, 4, 5), {"bias": torch.randn(2, 3, 4)}
    )
    case.q[0] /= 400  # one sentence by products, one by sums
    case.k[0] /= 400
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


@pytest.mark.usefixtures("_small_tiles")
def test_a_band_of_nothing_but_the_own_place():
    case = Case(torch.randn(1, 5, 3), torch.randn(1, 5, 3), torch.randn(1, 5, 3), {"band": 0})
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))
    assert torch.equal(case.run("triton", torch.float32)[0], case.v)
