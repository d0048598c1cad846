"""Feature-wise attention as the user calls it: numbers by hand, the readable path, the operator."""

import math
import subprocess
import sys

import pytest
import torch
from feature_cases import Case, close

from regard.errors import RegardError
from regard.kernels.feature import (
    _attend,
    feature_attention,
    feature_reference,
    feature_weights,
    feature_weights_reference,
)


@pytest.mark.parametrize("backend", ["auto", "cpu", "reference"])
def test_one_number_by_hand(backend):
    # Scores 0 and 5·tanh(atanh(0.2)) = 1: weights 1/(1+e) and e/(1+e) for the first feature; the second feature's
    # scores are equal, so its weights are a half each.
    k = torch.tensor([[[0.0, 2.0], [5 * math.atanh(0.2), 2.0]]])
    v = torch.tensor([[[0.0, 1.0], [1.0, 2.0]]])
    answer = feature_attention(torch.zeros(1, 1, 2), k, v, backend=backend)
    assert torch.allclose(answer, torch.tensor([[[math.e / (1 + math.e), 1.5]]]))


def test_readable_path_is_the_equation_written_out():
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    answer = feature_reference(q, k, v, scale=2.0)
    for b in range(2):
        for i in range(3):
            for f in range(4):
                e = [2.0 * math.tanh((q[b, i, f] + k[b, j, f]) / 2.0) for j in range(5)]
                total = sum(math.exp(x) for x in e)
                by_hand = sum(math.exp(x) / total * v[b, j, f] for j, x in enumerate(e))
                assert answer[b, i, f] == pytest.approx(float(by_hand), abs=1e-5)


def test_gradients_of_the_readable_path():
    q, k, v = (torch.randn(1, n, 3, dtype=torch.double, requires_grad=True) for n in (2, 3, 3))
    bias = torch.randn(1, 2, 3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda q, k, v, bias: feature_attention(q, k, v, bias=bias, pattern="causal"), (q, k, v, bias)
    )


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_a_query_that_sees_nothing_answers_zeros_and_learns_nothing(backend):
    q, k, v = (torch.randn(2, 4, 3, requires_grad=True) for _ in range(3))
    answer = feature_attention(q, k, v, pattern="forward", lengths=torch.tensor([4, 0]), backend=backend)
    assert not answer[0, 0].any()
    assert not answer[1].any()
    dq, dk, dv = torch.autograd.grad(answer.square().sum(), (q, k, v))
    assert not dq[0, 0].any()
    assert not dq[1].any()
    assert not dk[1].any()
    assert not dv[1].any()
    assert dq[0, 2].any()


def test_heads_are_one_more_leading_axis():
    q, k, v = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 4)
    lengths = torch.tensor([6, 2])
    answer = feature_attention(q, k, v, lengths=lengths[:, None].expand(2, 3))
    for head in range(3):
        alone = feature_attention(q[:, head], k[:, head], v[:, head], lengths=lengths)
        assert torch.allclose(answer[:, head], alone, atol=1e-6)


def test_weights_of_some_rows_and_features():
    q, k, v = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 4)
    bias = torch.randn(2, 5, 7)
    options = {"lengths": torch.tensor([7, 3]), "pattern": "causal", "bias": bias}
    whole = feature_weights(q, k, **options)
    assert torch.allclose((whole * v[:, None]).sum(2), feature_attention(q, k, v, **options), atol=1e-5)
    some = feature_weights(q, k, **options, rows=[3, 1], features=torch.tensor([2]))
    assert some.shape == (2, 2, 7, 1)
    assert torch.allclose(some, whole[:, [3, 1]][..., [2]])
    assert torch.equal(feature_weights(q, k), feature_weights_reference(q, k))


@pytest.mark.sweep
def test_the_operator_keeps_pytorchs_contract():
    q, k, v = (torch.randn(2, n, 5, requires_grad=True) for n in (3, 4, 4))
    bias, seed = torch.randn(2, 3, 4, requires_grad=True), torch.tensor([11])
    lengths = torch.tensor([4, 2])
    checks = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    for arguments in (
        (q, k, v, 5.0, None, None, "none", -1, None, None, None, None, 0.0, None, "auto"),
        (q, k, v, 5.0, lengths, None, "causal", 2, None, None, None, bias, 0.3, seed, "auto"),
    ):
        torch.library.opcheck(_attend, arguments, test_utils=checks)
    half = [t.detach().bfloat16().requires_grad_() for t in (q, k, v)]
    torch.library.opcheck(
        _attend, (*half, 5.0, None, None, "none", -1, None, None, None, None, 0.0, None, "auto"), test_utils=checks
    )


@pytest.mark.sweep
def test_compiles_whole():
    # In a process of its own: the compiler cannot see through the shape checks that these tests install.
    program = """
import torch
from regard.kernels.feature import feature_attention
q, k, v = (torch.randn(2, 6, 5, requires_grad=True) for _ in range(3))
fused = torch.compile(lambda *t: feature_attention(*t, pattern="forward"), fullgraph=True, backend="aot_eager")
plain, answer = feature_attention(q, k, v, pattern="forward"), fused(q, k, v)
torch.testing.assert_close(answer, plain)
torch.testing.assert_close(*(torch.autograd.grad(t.sum(), (q, k, v)) for t in (answer, plain)))
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_precisions_are_promoted_under_autocast():
    layer, x = torch.nn.Linear(4, 4), torch.randn(2, 3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        q = layer(x)
        assert feature_attention(q, q, q).dtype == torch.bfloat16
        assert feature_attention(q, q, x).dtype == torch.float32


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_dropout_is_fair_and_draws_anew(backend):
    q, k, v = torch.zeros(2, 20, 30), torch.zeros(2, 50, 30), torch.ones(2, 50, 30)
    answer = feature_attention(q, k, v, dropout=0.3, backend=backend)
    assert float(answer.mean()) == pytest.approx(1.0, abs=0.01)
    # Each answer is a mean of 50 draws of 0 or 1/0.7, independent of its neighbours.
    assert float(answer.var()) == pytest.approx(0.3 / 0.7 / 50, rel=0.1)
    assert float((answer[:, 1:] * answer[:, :-1]).mean()) == pytest.approx(1.0, abs=0.01)
    assert not torch.equal(answer, feature_attention(q, k, v, dropout=0.3, backend=backend))
    assert not torch.equal(answer[0], answer[1])  # each of a batch has its own


def test_a_bias_shared_by_queries_gets_the_sum_of_its_gradients():
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 4)
    bias = torch.randn(2, 1, 5, requires_grad=True)
    fused, readable = (feature_attention(q, k, v, bias=bias, backend=backend) for backend in ("auto", "reference"))
    got, true = (torch.autograd.grad(answer.square().sum(), bias)[0] for answer in (fused, readable))
    assert torch.allclose(got, true, atol=1e-5)


def test_empty_and_extreme_calls():
    assert not feature_attention(torch.randn(2, 3, 4), torch.randn(2, 0, 4), torch.randn(2, 0, 4)).any()
    assert feature_attention(torch.randn(0, 3, 4), torch.randn(0, 2, 4), torch.randn(0, 2, 4)).shape == (0, 3, 4)
    wide = Case(torch.randn(1, 4, 3), torch.randn(1, 5, 3), torch.randn(1, 5, 3), {"scale": 500.0})
    assert close(wide.run("auto", torch.float32), wide.run("reference", torch.float64))


def test_clear_refusals():
    q = torch.randn(1, 3, 4)
    with pytest.raises(RegardError, match=r"scale: got -1\.0; expected a number above 0"):
        feature_attention(q, q, q, scale=-1.0)
    with pytest.raises(RegardError, match=r"dropout: got 1\.0"):
        feature_attention(q, q, q, dropout=1.0)
    with pytest.raises(RegardError, match="at most 40 when fused"):
        feature_attention(q, q, q, scale=41.0, backend="cpu")
    with pytest.raises(RegardError, match="did you mean 'forward'"):
        feature_attention(q, q, q, pattern="forwards")
    with pytest.raises(RegardError, match=r"a bias of shape \[2, 3, 3\]; expected one that broadcasts to \[1, 3, 3\]"):
        feature_attention(q, q, q, bias=torch.zeros(2, 3, 3))
