"""Straight-through: hard gates with the gradient of p, exact where the reward is linear."""

import torch
from torch import Tensor
from torch.testing import assert_close

from estimator_cases import POLICIES, estimates, f64, logits_of, made


def test_hard_gates_with_the_gradient_of_p_by_hand() -> None:
    """l = log 3: p (1 − p) = 3/16, whatever was drawn."""
    logits = torch.full((1, 50, 1), 3.0, dtype=f64).log().requires_grad_()
    gates = made("straight_through_bernoulli").choose(logits, torch.ones(50, 1, dtype=torch.bool))
    assert gates.values is not None
    assert torch.equal(gates.values, gates.chosen.to(f64))
    assert 0 < gates.chosen.sum() < 50
    (slope,) = torch.autograd.grad(gates.values.sum(), logits)
    assert_close(slope, torch.full_like(slope, 3 / 16))


def test_it_is_exact_for_a_linear_reward() -> None:
    worth = torch.randn(POLICIES, 2, 3, dtype=f64)

    def linear(z: Tensor) -> Tensor:
        return (z * worth[:, :, None]).sum((0, 1, 3))

    found, _ = estimates(made("straight_through_bernoulli"), 5, linear)
    p = torch.sigmoid(logits_of())
    there = torch.tensor([[True, True, True], [True, True, False]])
    assert_close(found, (worth * p * (1 - p) * there).unsqueeze(2).expand_as(found))


def test_without_sampling_the_most_likely_choice_by_hand() -> None:
    """p = 3/4 is chosen and p = 1/4 is not; the gradient of both is 3/16."""
    logits = torch.tensor([[[3.0, 1 / 3]]], dtype=f64).log().requires_grad_()
    gates = made("straight_through_bernoulli", sample=False).choose(logits, torch.ones(1, 2, dtype=torch.bool))
    assert gates.values is not None
    assert gates.values.tolist() == [[[1.0, 0.0]]]
    (slope,) = torch.autograd.grad(gates.values.sum(), logits)
    assert_close(slope, torch.full_like(slope, 3 / 16))
