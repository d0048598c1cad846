"""Straight-through: one key forward, the softmax's gradient backward."""

import torch
from torch.testing import assert_close

from regard.attend.normalizer.softmax import softmax
from regard.attend.normalizer.straight_through import StraightThrough


def test_a_row_by_hand() -> None:
    scores = torch.tensor([0.3, 2.0, -1.0])
    assert StraightThrough()(scores).soft.tolist() == [0.0, 1.0, 0.0]
    assert StraightThrough()(scores, torch.tensor([True, False, True])).soft.tolist() == [1.0, 0.0, 0.0]
    assert StraightThrough()(scores, torch.tensor([False] * 3)).soft.tolist() == [0.0, 0.0, 0.0]


def test_forward_is_exactly_one_hot() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        scores = torch.randn(200, 7).to(dtype)
        weights = StraightThrough()(scores).soft
        assert weights.dtype == dtype
        assert torch.equal(weights, torch.nn.functional.one_hot(scores.argmax(-1), 7).to(dtype))


def test_backward_is_the_softmax() -> None:
    scores = torch.randn(5, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(5, 4) < 0.7
    mask[0] = False
    upstream = torch.randn(5, 4).double()
    (hard,) = torch.autograd.grad((StraightThrough()(scores, mask).soft * upstream).sum(), scores)
    (soft,) = torch.autograd.grad((softmax(scores, mask) * upstream).sum(), scores)
    assert_close(hard, soft)
    assert (hard[0] == 0).all()
    assert hard.abs().max() > 0
