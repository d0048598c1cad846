"""Bilinear: e = qᵀ W k."""

import torch
from torch.testing import assert_close

from regard.attend.score.bilinear import Bilinear


def test_a_number_by_hand() -> None:
    score = Bilinear(query=2, key=3)
    with torch.no_grad():
        score.W.weight.copy_(torch.tensor([[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]]))
    q = torch.tensor([[[1.0, 3.0]]])
    k = torch.tensor([[[1.0, 2.0, 1.0], [0.0, 0.0, 1.0]]])
    # W k₁ = (1 + 2, −2 + 1) = (3, −1), q·(3, −1) = 0;  W k₂ = (2, 1), q·(2, 1) = 5
    assert_close(score.scores(score.project(q), score.prepare(k)), torch.tensor([[[0.0, 5.0]]]))


def test_it_is_the_sum_over_both_sides() -> None:
    score = Bilinear(query=3, key=4).double()
    q, k = torch.randn(2, 5, 3).double(), torch.randn(2, 6, 4).double()
    expected = torch.einsum("bqi,ij,bkj->bqk", q, score.W.weight, k)
    assert_close(score.scores(score.project(q), score.prepare(k)), expected)


def test_sizes_may_differ_and_there_is_no_constant_term() -> None:
    score = Bilinear(query=2, key=5)
    assert score.hidden == 2
    assert [tuple(p.shape) for p in score.parameters()] == [(2, 5)]
    assert score.scores(score.project(torch.zeros(1, 1, 2)), score.prepare(torch.randn(1, 3, 5))).abs().max() == 0
