"""Hard concrete: the gate outside training, and the share of gates that are not 0, by hand."""

import pytest
import torch

from estimator_cases import f64, made


def test_the_gate_outside_training_by_hand() -> None:
    """σ(0) · 1.2 − 0.1 = ½; P(z ≠ 0) = σ(⅔ log 11)."""
    mask = torch.ones(1, 1, dtype=torch.bool)
    gates = made("hard_concrete").decide(torch.zeros(1, 1, 1, dtype=f64), mask)
    assert gates.values is not None
    assert gates.values.item() == pytest.approx(0.5)
    assert gates.expected.item() == pytest.approx(1 / (1 + 11 ** (-2 / 3)), rel=1e-6)


def test_some_gates_are_exactly_0_and_1() -> None:
    part = made("hard_concrete")
    values = part.choose(torch.zeros(1, 1, 4000, dtype=f64), torch.ones(1, 4000, dtype=torch.bool)).values
    assert values is not None
    share = 1 - 1 / (1 + 11 ** (-2 / 3))  # P(z = 0), and by symmetry P(z = 1)
    for end in (0, 1):
        assert (values == end).double().mean().item() == pytest.approx(share, abs=0.03)
