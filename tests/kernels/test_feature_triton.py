"""The Triton kernels against float64: on a GPU where there is one, else through Triton's interpreter."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from feature_cases import HOSTILE, Case, at_most_twice, cases, close, honest_about_nan, hostile, poisoned
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


def test_the_interpreter_is_on():
    assert type(feature_triton.walk_keys_kernel).__name__ == "InterpretedFunction"


@pytest.mark.usefixtures("_small_tiles")
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cases(largest=10))
def test_agrees_with_float64(case):
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


@settings(max_examples=4)
@given(cases(largest=10))
def test_agrees_in_half_precision(case):
    case = Case(case.q.half(), case.k.half(), case.v.half(), case.options)
    assert close(case.run("triton", torch.float16), case.run("reference", torch.float64), tolerance=4e-3)


@pytest.mark.parametrize("name", HOSTILE)
def test_error_at_most_twice_the_readable_paths(name):
    # A little slack in float32: NumPy has no fused multiply-add, which the compiled kernel has.
    at_most_twice(hostile(name), "triton", torch.float32, times=2.3)
    if name in ("plain", "huge"):
        at_most_twice(hostile(name), "triton", torch.float16)


def test_longer_than_one_part_of_the_magnitudes():
    case = Case(torch.randn(1, 3, 5), torch.randn(1, 131, 5), torch.randn(1, 131, 5), {"lengths": torch.tensor([130])})
    case.k[0, 129, 2] = 900.0  # only the second part knows
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


def test_what_is_hidden_may_hold_anything():
    poisoned("triton")


def test_nan_goes_through():
    honest_about_nan("triton")
