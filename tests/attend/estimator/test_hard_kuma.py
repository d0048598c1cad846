"""HardKuma: uniform at a logit of 0, so that its chances of 0 and 1 are known."""

import pytest
import torch

from estimator_cases import f64, made


def test_a_uniform_gate_by_hand() -> None:
    """From −0.1 to 1.1: a chance of 1/12 for 0 and for 1, so ½ is the most likely answer."""
    mask = torch.ones(1, 1, dtype=torch.bool)
    gates = made("hard_kuma").decide(torch.zeros(1, 1, 1, dtype=f64), mask)
    assert gates.values is not None
    assert gates.values.item() == pytest.approx(0.5)
    assert gates.expected.item() == pytest.approx(11 / 12)


def test_some_gates_are_exactly_0_and_1() -> None:
    part = made("hard_kuma")
    values = part.choose(torch.zeros(1, 1, 4000, dtype=f64), torch.ones(1, 4000, dtype=torch.bool)).values
    assert values is not None
    for end in (0, 1):
        assert (values == end).double().mean().item() == pytest.approx(1 / 12, abs=0.02)
    assert values.mean().item() == pytest.approx(0.5, abs=0.02)
