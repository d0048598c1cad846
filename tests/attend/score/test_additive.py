"""Additive: e = wᵀ tanh(W_q q + W_k k + b)."""

import math

import torch
from torch.testing import assert_close

from regard.attend.score.additive import Additive, additive


def test_a_number_by_hand() -> None:
    score = Additive(query=1, key=2, hidden=2)
    with torch.no_grad():
        score.W_q.weight.copy_(torch.tensor([[1.0], [2.0]]))
        score.W_q.bias.copy_(torch.tensor([0.5, -1.0]))
        score.W_k.weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
        score.w.copy_(torch.tensor([2.0, -1.0]))
    q, k = torch.tensor([[[0.5]]]), torch.tensor([[[-1.0, 0.25], [1.0, -2.0]]])
    # W_q q + b = (0.5 + 0.5, 1 − 1) = (1, 0)
    # k₁: tanh(1 − 1) = 0, tanh(0.25) = 0.244919;       e = 2·0 − 0.244919
    # k₂: tanh(1 + 1) = 0.964028, tanh(−2) = −0.964028; e = 2·0.964028 + 0.964028 = 2.892083
    scores = score.scores(score.project(q), score.prepare(k))
    assert_close(scores, torch.tensor([[[-0.244919, 2.892083]]]), atol=1e-5, rtol=0)


def test_it_is_one_layer_over_query_and_key_side_by_side() -> None:
    """w₂ᵀ tanh(W₁ [q; k] + b), pair by pair."""
    score = Additive(query=3, key=4, hidden=5).double()
    q, k = torch.randn(2, 3, 3).double(), torch.randn(2, 6, 4).double()
    W1 = torch.cat([score.W_q.weight, score.W_k.weight], dim=1)
    scores = score.scores(score.project(q), score.prepare(k))
    for b, j, i in [(0, 0, 0), (0, 2, 5), (1, 1, 3)]:
        expected = score.w @ torch.tanh(W1 @ torch.cat([q[b, j], k[b, i]]) + score.W_q.bias)
        assert_close(scores[b, j, i], expected)


def test_it_is_bounded_by_the_sum_of_w() -> None:
    w = torch.randn(7)
    scores = additive(100 * torch.randn(2, 3, 7), 100 * torch.randn(2, 4, 7), w)
    assert scores.abs().max() <= w.abs().sum() + 1e-5


def test_the_constant_is_counted_once() -> None:
    score = Additive(query=3, key=4, hidden=5)
    assert {name: tuple(p.shape) for name, p in score.named_parameters()} == {
        "w": (5,),
        "W_q.weight": (5, 3),
        "W_q.bias": (5,),
        "W_k.weight": (5, 4),
    }
    assert score.w.abs().max() <= 1 / math.sqrt(5)
