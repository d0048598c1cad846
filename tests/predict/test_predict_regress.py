"""Regress: a number as the mean of a distribution over the steps of a scale."""

from math import log

import pytest
import torch
from torch.nn.functional import kl_div, log_softmax

from regard.errors import RegardError
from regard.predict.classify import Classify
from regard.predict.regress import Regress, expected, sparse


def test_by_hand() -> None:
    """3.6 is 0.4 of a 3 and 0.6 of a 4; probabilities ½, ¼, 0, 0, ¼ have the mean 0.5 + 0.5 + 1.25 = 2.25."""
    torch.testing.assert_close(sparse(torch.tensor([3.6]), 1, 5), torch.tensor([[0.0, 0.0, 0.4, 0.6, 0.0]]))
    logits = torch.tensor([[log(0.5), log(0.25), -1e9, -1e9, log(0.25)]])
    assert expected(logits, 1).item() == pytest.approx(2.25)


def test_whole_steps_and_the_ends() -> None:
    """On a step it is that step alone; a score beyond an end counts as that end, so it stays a distribution."""
    assert sparse(torch.tensor([1.0, 3.0, 5.0]), 1, 5).tolist() == torch.eye(5)[[0, 2, 4]].tolist()
    assert sparse(torch.tensor([0.4, 7.0]), 1, 5).tolist() == torch.eye(5)[[0, 4]].tolist()


@pytest.mark.parametrize(("low", "high"), [(1, 5), (0, 1), (-2, 3)])
def test_the_mean_of_the_sparse_distribution_is_the_score(low: int, high: int) -> None:
    scores = torch.linspace(low, high, 37, dtype=torch.float64)
    p = sparse(scores, low, high)
    assert p.shape == (37, high - low + 1)
    assert (p >= 0).all()
    assert ((p > 0).sum(-1) <= 2).all()
    torch.testing.assert_close(p.sum(-1), torch.ones(37).double())
    torch.testing.assert_close(expected(p.log(), low), scores)


def test_the_divergence_is_learned_away() -> None:
    """The loss has its least, 0, where the distribution is the sparse one; zeros in it give no NaN."""
    target = sparse(torch.tensor([3.6, 5.0]), 1, 5)
    logits = target.clamp(min=1e-12).log().requires_grad_()
    loss = kl_div(log_softmax(logits, -1), target, reduction="sum")
    loss.backward()
    assert loss.item() == pytest.approx(0.0, abs=1e-6)
    assert logits.grad is not None
    assert logits.grad.abs().max() < 1e-6


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_half_precision_does_not_round_the_score(half: torch.dtype) -> None:
    """Both logits are exact in half precision; their mean is not."""
    logits = torch.tensor([[0.0, 0.0, 0.0, 1.0, 2.0]])
    with torch.autocast("cpu", dtype=half):
        found = expected(logits.to(half), 1)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected(logits.double(), 1).float())


def test_it_is_a_classifier_over_the_steps() -> None:
    part = Regress(inputs=3, low=0, high=3, hidden=4, highway=True)
    assert isinstance(part.scores, Classify)
    vector = torch.randn(2, 3)
    assert part(vector).shape == (2, 4)
    assert torch.equal(part(vector), part.scores(vector))


def test_gradients_are_right() -> None:
    part = Regress(inputs=3, hidden=4, act="tanh").double()
    vector = torch.randn(2, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v, *_: expected(part(v), 1), (vector, *part.parameters()))


def test_a_scale_upside_down_is_explained() -> None:
    with pytest.raises(RegardError, match="a scale from 5 to 1; expected a low end below its high end"):
        Regress(inputs=3, low=5, high=1)
