# ruff: noqa: E402
"""The walk over the queries: the gradients of keys and values."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
triton = pytest.importorskip("triton")

from feature_cases import Case, close

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="benchmarks/check_feature.py does this on a GPU"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_gradients_of_keys_and_values(dropout):
    case = Case(torch.randn(2, 5, 3), torch.randn(2, 4, 3), torch.randn(2, 4, 3),
                {"lengths": torch.tensor([4, 2]), "dropout": dropout})  # fmt: skip
    *_, dk, dv = case.run("triton", torch.float32)
    assert close([dk, dv], case.run("reference", torch.float64)[2:])
    assert not dk[1, 2:].any()
    assert not dv[1, 2:].any()


def test_equal_weights_by_hand():
    # One query, equal scores: each value gets half of what the answer gets; the keys pull against each other.
    case = Case(torch.zeros(1, 1, 1), torch.zeros(1, 2, 1), torch.tensor([[[1.0], [3.0]]]))
    *_, dk, dv = case.run("triton", torch.float32)
    pull = torch.randn(1, 1, 1, generator=torch.Generator().manual_seed(3)).item()
    assert dv.flatten().tolist() == pytest.approx([pull / 2, pull / 2])
    assert dk.flatten().tolist() == pytest.approx([-pull / 2, pull / 2])
