# ruff: noqa: E402
"""The walk over the keys: answers and the gradient of the queries."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
triton = pytest.importorskip("triton")

from feature_cases import Case, close

from regard.kernels import feature_triton
from regard.kernels.mask import MaskSpec

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="benchmarks/check_feature.py does this on a GPU"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def test_answer_and_sum_of_weights_by_hand():
    # Two keys with scores 0 and 5: weights 1 and e^5, values 0 and 1. A third is beyond the length.
    q, k = torch.zeros(1, 1, 1), torch.tensor([[[0.0], [1e4], [float("nan")]]])
    v = torch.tensor([[[0.0], [1.0], [float("nan")]]])
    answer, _, den = feature_triton.forward(q, k, v, 5.0, MaskSpec(lengths=torch.tensor([2])), None, 0.0, None)
    assert float(answer) == pytest.approx(1 / (1 + torch.tensor(-5.0).exp().item()))
    assert float(den) == pytest.approx(1 + torch.tensor(5.0).exp().item())


def test_the_answer_alone_is_the_same():
    q, k, v = torch.randn(2, 3, 5).half(), torch.randn(2, 5, 5).half(), torch.randn(2, 5, 5).half()
    given = (q, k, v, 5.0, MaskSpec(pattern="causal"), None, 0.0, None)
    assert torch.equal(feature_triton.forward(*given, keep=False)[0], feature_triton.forward(*given)[0])


def test_an_odd_number_of_keys_and_a_hidden_row():
    case = Case(torch.randn(2, 3, 5), torch.randn(2, 5, 5), torch.randn(2, 5, 5),
                {"pattern": "forward", "query_lengths": torch.tensor([3, 1])})  # fmt: skip
    answer, dq, *_ = case.run("triton", torch.float32)
    assert close([answer, dq], case.run("reference", torch.float64)[:2])
    assert not answer[1, 1:].any()
    assert not dq[1, 1:].any()
