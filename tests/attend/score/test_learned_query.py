"""Learned query: e = wᵀ tanh(W k), nothing asked from outside."""

import pytest
import torch
from torch.testing import assert_close

from regard.attend.attention import Attention
from regard.attend.score.learned_query import LearnedQuery
from regard.errors import RegardError


def test_a_number_by_hand() -> None:
    score = LearnedQuery(key=2, hidden=2)
    with torch.no_grad():
        score.W.weight.copy_(torch.tensor([[1.0, 0.0], [1.0, -1.0]]))
        score.w.copy_(torch.tensor([[[1.0, 3.0]]]))
    k = torch.tensor([[[0.5, 0.5], [0.0, -1.0]]])
    # W k₁ = (0.5, 0):  tanh(0.5) = 0.462117, tanh(0) = 0;  e = 0.462117
    # W k₂ = (0, 1):    tanh(0) = 0, tanh(1) = 0.761594;    e = 3·0.761594 = 2.284782
    scores = score.scores(score.project(None), score.prepare(k))
    assert_close(scores, torch.tensor([[[0.462117, 2.284782]]]), atol=1e-5, rtol=0)


def test_each_row_is_a_query_of_its_own() -> None:
    many = Attention(LearnedQuery(key=4, hidden=5, hops=3)).double()
    keys, values = torch.randn(2, 6, 4).double(), torch.randn(2, 6, 3).double()
    look = many(None, many.prepare(keys, values))
    assert look.context.shape == (2, 3, 3)
    assert look.weights.shape == (2, 3, 6)
    for row in range(3):
        one = Attention(LearnedQuery(key=4, hidden=5)).double()
        one.load_state_dict({**many.state_dict(), "score.w": many.score.w[:, row : row + 1].detach()})
        alone = one(None, one.prepare(keys, values))
        assert_close(look.context[:, row], alone.context[:, 0])
        assert_close(look.weights[:, row], alone.weights[:, 0])
    assert not torch.allclose(look.context[:, 0], look.context[:, 1])


def test_it_asks_the_same_of_every_sentence() -> None:
    attention = Attention(LearnedQuery(key=4, hidden=5, hops=2))
    keys = torch.randn(1, 6, 4).expand(3, 6, 4)
    answer = attention(None, attention.prepare(keys)).context
    assert_close(answer[0], answer[1])
    assert_close(answer[0], answer[2])


def test_a_query_from_outside_is_not_quietly_dropped() -> None:
    attention = Attention(LearnedQuery(key=4, hidden=5))
    with pytest.raises(RegardError, match="learned_query got a query"):
        attention(torch.randn(2, 3, 4), attention.prepare(torch.randn(2, 6, 4)))
