"""Smoothed softmax: a = exp(e) / (Σ exp(e))^β."""

from math import exp, log, sqrt

import pytest
import torch
from torch.testing import assert_close

from regard.attend.normalizer.smoothed import Smoothed
from regard.attend.normalizer.softmax import softmax
from regard.errors import RegardError


def test_a_number_by_hand() -> None:
    """e = (ln 1, ln 3), Σ = 4: the softmax is (¼, ¾), with β = ½ it is (½, 1½), and with β = 0 (1, 3)."""
    e = torch.tensor([log(1), log(3)], dtype=torch.float64)
    for beta, expected in ((1.0, [0.25, 0.75]), (0.5, [0.5, 1.5]), (0.0, [1.0, 3.0])):
        assert_close(Smoothed(beta)(e).soft, torch.tensor(expected, dtype=torch.float64))


def test_what_is_hidden_has_no_part_in_the_sum() -> None:
    e = torch.tensor([0.0, 1.0, 50.0])
    found = Smoothed(0.5)(e, torch.tensor([True, True, False])).soft
    assert_close(found, torch.tensor([1 / sqrt(1 + exp(1)), exp(1) / sqrt(1 + exp(1)), 0.0]))
    assert Smoothed()(e, torch.zeros(3, dtype=torch.bool)).soft.tolist() == [0.0, 0.0, 0.0]


def test_beta_one_is_the_softmax() -> None:
    e, mask = torch.randn(3, 5), torch.rand(3, 5) > 0.4
    assert_close(Smoothed(1.0)(e, mask).soft, softmax(e, mask))


def test_large_scores_stay_finite() -> None:
    e = torch.tensor([[500.0, 0.0]], requires_grad=True)
    found = Smoothed(0.0)(e).soft
    assert found.isfinite().all()
    found.sum().backward()
    assert e.grad is not None
    assert e.grad.isfinite().all()


def test_beta_has_a_range() -> None:
    with pytest.raises(RegardError, match=r"beta: got 1\.5; expected a number from 0 to 1"):
        Smoothed(1.5)
