"""Attention among chosen tokens: equal to the dense form under the same choice."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.kernels.feature import feature_attention
from regard.kernels.selected import selected_attention
from tiers import tries

PATTERNS = ["none", "causal", "forward", "backward", "not_self"]


def rows(*shape):
    return torch.randn(*shape, requires_grad=True)


def test_one_number_by_hand():
    # Tokens 0, 2, 3 ask, 1 and 2 are looked at, strictly earlier ones only. Token 2 sees token 1 alone; token 3 sees
    # both, whose scores 5·tanh(0/5) = 0 are equal, so it answers the mean; token 0 sees nothing.
    v = torch.tensor([[[10.0], [1.0], [3.0], [20.0]]])
    zeros = torch.zeros(1, 4, 1)
    asking = torch.tensor([[True, False, True, True]])
    seen = torch.tensor([[False, True, True, False]])
    answer = selected_attention("feature", zeros, zeros, v, asking, seen, pattern="forward")
    assert torch.allclose(answer[0, :, 0], torch.tensor([0.0, 0.0, 1.0, 2.0]))


@settings(max_examples=tries(25))
@given(st.integers(1, 3), st.integers(1, 12), st.integers(1, 6), st.sampled_from(PATTERNS), st.sampled_from([-1, 0, 2]),
       st.floats(0, 1), st.integers(0, 10**6))  # fmt: skip
def test_equals_the_dense_form(batch, time, width, pattern, band, share, seed):
    torch.manual_seed(seed)
    q, k, v = rows(batch, time, width), rows(batch, time, width), rows(batch, time, width)
    asking, seen = torch.rand(batch, time) < share, torch.rand(batch, time) < share
    sparse = selected_attention("feature", q, k, v, asking, seen, pattern=pattern, band=band)
    mask = asking[:, :, None] & seen[:, None, :]
    dense = feature_attention(q, k, v, mask, pattern=pattern, band=band, backend="reference")
    assert torch.allclose(sparse, dense, atol=1e-5)
    pull = torch.randn_like(dense)
    for a, b in zip(
        torch.autograd.grad(sparse, (q, k, v), pull), torch.autograd.grad(dense, (q, k, v), pull), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-5)


def test_additive_too():
    additive = pytest.importorskip("regard.kernels.additive")
    q, k, v, w = rows(2, 9, 8), rows(2, 9, 8), rows(2, 9, 5), rows(8)
    asking, seen = torch.rand(2, 9) < 0.5, torch.rand(2, 9) < 0.5
    sparse = selected_attention("additive", q, k, v, asking, seen, w=w, pattern="not_self")
    dense = additive.additive_attention(q, k, v, w, asking[:, :, None] & seen[:, None, :], pattern="not_self")
    assert torch.allclose(sparse, dense, atol=1e-5)
    pull = torch.randn_like(dense)
    for a, b in zip(
        torch.autograd.grad(sparse, (q, k, v, w), pull), torch.autograd.grad(dense, (q, k, v, w), pull), strict=True
    ):
        assert torch.allclose(a, b, atol=1e-5)


def test_unchosen_rows_are_never_read():
    q, k, v = torch.randn(2, 6, 4), torch.randn(2, 6, 4), torch.randn(2, 6, 4)
    asking, seen = torch.rand(2, 6) < 0.5, torch.rand(2, 6) < 0.5
    whole = selected_attention("feature", q, k, v, asking, seen)
    q[~asking], k[~seen], v[~seen] = float("nan"), float("nan"), float("nan")
    inputs = [t.requires_grad_() for t in (q, k, v)]
    torn = selected_attention("feature", *inputs, asking, seen)
    assert torch.equal(torn, whole)
    for grad in torch.autograd.grad(torn.sum(), inputs):
        assert grad.isfinite().all()
        assert not grad[~(asking | seen)].any()


def test_nothing_chosen_answers_zeros():
    q = rows(2, 5, 3)
    none = torch.zeros(2, 5, dtype=torch.bool)
    answer = selected_attention("feature", q, q, q, none, none)
    assert not answer.any()
    assert not torch.autograd.grad(answer.sum(), q)[0].any()


def test_capacity_is_a_promise():
    q = torch.randn(1, 6, 3)
    chosen = torch.tensor([[True, True, True, False, False, False]])
    exact = selected_attention("feature", q, q, q, chosen, chosen)
    assert torch.allclose(selected_attention("feature", q, q, q, chosen, chosen, capacity=5), exact)
    with pytest.raises(RegardError, match="3 tokens selected; expected at most 2"):
        selected_attention("feature", q, q, q, chosen, chosen, capacity=2)


def test_the_work_follows_the_choice(monkeypatch):
    sizes = []

    def spy(q, k, v, **_):
        sizes.append((q.shape[1], k.shape[1]))
        return q

    monkeypatch.setattr("regard.kernels.selected.feature_attention", spy)
    q = torch.randn(2, 8, 3)
    asking = torch.tensor([[True] * 2 + [False] * 6, [False] * 8])
    seen = torch.tensor([[False] * 8, [False] * 5 + [True] * 3])
    selected_attention("feature", q, q, q, asking, seen)
    assert sizes == [(3, 3)]
