"""Softmax: a = exp(e) / Σ exp(e)."""

import math

import torch
from torch.testing import assert_close

from regard.attend.normalizer.softmax import Softmax, softmax


def test_a_number_by_hand() -> None:
    scores = torch.tensor([0.0, math.log(2), math.log(5)])
    # (1, 2, 5) / 8
    assert_close(softmax(scores), torch.tensor([1 / 8, 2 / 8, 5 / 8]))
    # The last one hidden: (1, 2) / 3
    assert_close(softmax(scores, torch.tensor([True, True, False])), torch.tensor([1 / 3, 2 / 3, 0.0]))


def test_a_constant_added_to_all_scores_changes_nothing() -> None:
    scores = torch.randn(3, 4, 5).double()
    assert_close(softmax(scores + 700), softmax(scores))


def test_hidden_keys_do_not_count_however_high_they_are() -> None:
    scores = torch.randn(2, 3, 4)
    mask = torch.tensor([True, False, True, True])
    for high in (1e6, 3e38, float("inf")):
        raised = scores.masked_fill(~mask, high)
        weights = Softmax()(raised, mask).soft
        assert weights is not None
        assert (weights[..., 1] == 0).all()
        assert_close(weights[..., mask], torch.softmax(scores[..., mask], dim=-1))


def test_low_scores_are_still_told_from_hidden_ones() -> None:
    """Very low is not hidden: only the mask says what is."""
    weights = softmax(torch.tensor([-1e30, -1e30, 0.0]), torch.tensor([True, True, False]))
    assert_close(weights, torch.tensor([0.5, 0.5, 0.0]))


def test_a_row_with_nothing_visible() -> None:
    scores = torch.randn(2, 3, requires_grad=True)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    weights = softmax(scores, mask)
    assert (weights[1] == 0).all()
    (weights * torch.randn(2, 3)).sum().backward()
    assert scores.grad is not None
    assert (scores.grad[1] == 0).all()
    assert scores.grad[0, :2].abs().min() > 0
    assert scores.grad[0, 2] == 0
