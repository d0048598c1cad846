"""DisARM: opposite choices, and a number worked by hand."""

import pytest
import torch
from torch.testing import assert_close

from estimator_cases import f64, made


def test_opposite_choices_are_opposite() -> None:
    """At p = ½ DisARM's two choices share no token, and what both treat alike gets no gradient."""
    part = made("disarm")
    gates = part.choose(torch.zeros(1, 8, 3, dtype=f64), torch.ones(8, 3, dtype=torch.bool), sides=1, copies=2)
    assert torch.equal(gates.chosen[:, :4], ~gates.chosen[:, 4:])


def test_disarm_by_hand() -> None:
    """l = log 3, p = ¾: u < ¼ chooses in z and in z̃'s place 1 − u > ¾ does not. R = 2 with the token, 0 without:
    ½ (2 − 0) (1 − 0) σ(log 3) = ¾, and with u in [¼, ¾) both choose it and the gradient is 0."""
    part = made("disarm")
    logits = torch.full((1, 4000, 1), 3.0, dtype=f64).log().requires_grad_()
    gates = part.choose(logits, torch.ones(4000, 1, dtype=torch.bool), sides=1, copies=2)
    R = 2.0 * gates.chosen[0, :, 0]
    (slope,) = torch.autograd.grad((R * gates.score[0]).sum() / 2, logits)
    values = slope.view(2, 2000).sum(0)
    differs = gates.chosen[0, :2000, 0] != gates.chosen[0, 2000:, 0]
    assert_close(values, torch.where(differs, 0.75, 0.0).to(f64))
    assert values.mean().item() == pytest.approx(2 * 0.75 * 0.25, abs=0.03)
