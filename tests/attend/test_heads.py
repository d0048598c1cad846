"""Heads: the same attention several times side by side."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from regard.attend.attention import Attention, make
from regard.attend.heads import Heads
from regard.attend.score.additive import Additive
from regard.attend.score.dot import Dot
from regard.attend.score.scaled_dot import ScaledDot
from regard.errors import RegardError


def test_a_number_by_hand() -> None:
    """Two heads, one wide each, all projections the identity: head 1 sees the first feature, head 2 the second."""
    attention = Attention(Dot(query=1, key=1), heads=Heads(query=2, key=2, value=2, heads=2))
    with torch.no_grad():
        for name in ("W_q", "W_k", "W_v", "W_o"):
            getattr(attention.heads, name).weight.copy_(torch.eye(2))
            getattr(attention.heads, name).bias.zero_()
        attention.heads.W_o.bias.copy_(torch.tensor([10.0, 20.0]))
    keys = torch.tensor([[[0.0, 0.0], [1.0, 2.0]]])
    values = torch.tensor([[[1.0, 0.0], [0.0, 4.0]]])
    look = attention(torch.tensor([[[1.0, 0.0]]]), attention.prepare(keys, values))
    # head 1: scores 1·(0, 1), weights (1, e)/(1 + e) = (0.268941, 0.731059), answer 1·0.268941
    # head 2: scores 0·(0, 2), weights (½, ½), answer ½·4 = 2
    assert_close(look.weights, torch.tensor([[[[0.268941, 0.731059]], [[0.5, 0.5]]]]), atol=1e-5, rtol=0)
    assert_close(look.context, torch.tensor([[[10.268941, 22.0]]]), atol=1e-5, rtol=0)


def test_it_is_the_equation_head_by_head() -> None:
    """W_o [attend(W_q¹ q, W_k¹ k, W_v¹ v); attend(W_q² q, …)], with query, key and value of three sizes."""
    attention = Attention(Additive(query=3, key=3, hidden=4), heads=Heads(query=5, key=4, value=7, heads=2, size=6))
    attention.double()
    q, k, v = torch.randn(2, 3, 5).double(), torch.randn(2, 4, 4).double(), torch.randn(2, 4, 7).double()
    mask = torch.tensor([[True, True, True, False], [True, False, True, True]])
    look = attention(q, attention.prepare(k, v, mask))
    h, alone = attention.heads, Attention(attention.score).double()
    answers = []
    for head in range(2):
        own = slice(3 * head, 3 * head + 3)

        def through(x: Tensor, W: nn.Linear, own: slice = own) -> Tensor:
            return x @ W.weight[own].T + W.bias[own]

        one = alone(through(q, h.W_q), alone.prepare(through(k, h.W_k), through(v, h.W_v), mask))
        assert_close(look.weights[:, head], one.weights)
        answers.append(one.context)
    assert_close(look.context, torch.cat(answers, dim=-1) @ h.W_o.weight.T + h.W_o.bias)


@pytest.mark.parametrize("causal", [False, True])
def test_it_agrees_with_pytorch(causal: bool) -> None:
    """Scaled dot products under softmax and heads are nn.MultiheadAttention."""
    attention = make(8, 8, 8, score="scaled_dot", heads=4)
    theirs = nn.MultiheadAttention(8, 4, batch_first=True)
    h = attention.heads
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([h.W_q.weight, h.W_k.weight, h.W_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([h.W_q.bias, h.W_k.bias, h.W_v.bias]))
        theirs.out_proj.load_state_dict(h.W_o.state_dict())
    q, k, v = torch.randn(2, 5, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8)
    there = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    earlier = torch.ones(5, 5, dtype=torch.bool).tril() if causal else None
    look = attention(q, attention.prepare(k, v, there), mask=None if earlier is None else earlier[None])
    answer, weights = theirs(
        q,
        k,
        v,
        key_padding_mask=~there,
        attn_mask=None if earlier is None else ~earlier,
        average_attn_weights=False,
    )
    assert_close(look.context, answer, atol=1e-5, rtol=1e-5)
    assert_close(look.weights, weights, atol=1e-5, rtol=1e-5)


def test_shapes() -> None:
    heads = Heads(query=5, key=4, value=7, heads=3, size=6)
    assert heads.query(torch.randn(2, 3, 5)).shape == (2, 3, 3, 2)
    assert heads.keys(torch.randn(2, 9, 4)).shape == (2, 3, 9, 2)
    assert heads.values(torch.randn(2, 9, 7)).shape == (2, 3, 9, 2)
    assert heads.merge(torch.randn(2, 3, 4, 2)).shape == (2, 4, 7)
    assert Heads(query=5, key=4, value=7, heads=2).size == 4  # as wide as the keys where nothing is said


def test_one_head_with_plain_projections_is_no_heads() -> None:
    attention = Attention(ScaledDot(query=3, key=3), heads=Heads(query=3, key=3, value=3, heads=1))
    with torch.no_grad():
        for name in ("W_q", "W_k", "W_v", "W_o"):
            getattr(attention.heads, name).weight.copy_(torch.eye(3))
            getattr(attention.heads, name).bias.zero_()
    plain = Attention(ScaledDot(query=3, key=3))
    q, k = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    assert_close(attention(q, attention.prepare(k)).context, plain(q, plain.prepare(k)).context)


@pytest.mark.parametrize(("heads", "size"), [(3, 8), (0, 8), (-2, 8), (16, 8)])
def test_heads_divide_the_width(heads: int, size: int) -> None:
    with pytest.raises(RegardError, match=f"{heads} heads with size {size}; expected"):
        Heads(query=4, key=4, value=4, heads=heads, size=size)
