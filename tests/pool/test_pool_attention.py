"""Attention: one learned query, any normalizer."""

from math import atanh, exp

import pytest
import torch

from regard import find
from regard.pool.attention import Attention
from regard.types import Memory

every_weighing = pytest.mark.parametrize("normalizer", find.names("attend.normalizer"))


def test_by_hand() -> None:
    """Scores 0 and 2 · tanh(atanh 0.5) = 1: weights 0.26894 and 0.73106, and v = 0.73106 · atanh 0.5 = 0.40157."""
    part = Attention(inputs=1, hidden=1)
    with torch.no_grad():
        part.attention.score.W.weight.fill_(1.0)
        part.attention.score.w.fill_(2.0)
    values = torch.tensor([[[0.0], [atanh(0.5)], [7.0]]])
    pooled = part(Memory(values, values, torch.tensor([[True, True, False]])))
    assert pooled.look is not None
    assert pooled.look.weights.flatten().tolist() == pytest.approx([0.26894, 0.73106, 0.0], abs=1e-5)
    assert pooled.vector.item() == pytest.approx(atanh(0.5) * exp(1) / (1 + exp(1)), abs=1e-6)
    assert pooled.vector.item() == pytest.approx(0.40157, abs=1e-5)


@every_weighing
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_under_any_weighing_padding_is_nothing(normalizer: str, training: bool, dtype: torch.dtype) -> None:
    part = Attention(inputs=4, hidden=3, normalizer=normalizer).to(dtype).train(training)
    mask = torch.tensor([[True, True, False], [False] * 3, [True, False, True]])
    values = torch.randn(3, 3, 4, dtype=dtype).masked_fill(~mask.unsqueeze(-1), float("nan")).requires_grad_()
    pooled = part(Memory(values, values, mask))
    assert pooled.vector.isfinite().all()
    assert pooled.vector.any(-1).tolist() == [True, False, True]
    assert pooled.look is not None
    assert not pooled.look.weights[:, 0][~mask].any()
    gradients = torch.autograd.grad(pooled.vector.square().sum(), [values, *part.parameters()], allow_unused=True)
    assert all(gradient.isfinite().all() for gradient in gradients if gradient is not None)


@every_weighing
def test_under_any_weighing_nothing_can_be_pooled(normalizer: str) -> None:
    part, values = Attention(inputs=4, hidden=3, normalizer=normalizer), torch.zeros(2, 0, 4)
    for mask in [None, torch.zeros(2, 0, dtype=torch.bool)]:
        assert part(Memory(values, values, mask)).vector.tolist() == [[0.0] * 4] * 2


def test_a_sampled_choice_says_how_likely_it_was() -> None:
    part, values = Attention(inputs=4, hidden=3, normalizer="sample"), torch.randn(2, 3, 4)
    pooled = part(Memory(values, values))
    assert pooled.look is not None
    assert pooled.look.log_prob is not None
    assert pooled.look.log_prob.shape == (2, 1)
    assert all((values[row] == pooled.vector[row]).all(-1).any() for row in range(2)), "one of the states, whole"
