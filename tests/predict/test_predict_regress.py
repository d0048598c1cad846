"""Regress: a number as the mean of a distribution over the steps of a scale."""

from math import exp, log

import pytest
import torch
from torch.nn.functional import kl_div, log_softmax

from regard.errors import RegardError
from regard.predict.classify import ClassifyHead
from regard.predict.regress import RegressHead, expected, sparse


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
    part = RegressHead(inputs=3, low=0, high=3, hidden=4, highway=True)
    assert isinstance(part.scores, ClassifyHead)
    vector = torch.randn(2, 3)
    assert part(vector).shape == (2, 4)
    assert torch.equal(part(vector), part.scores(vector))


def test_gradients_are_right() -> None:
    part = RegressHead(inputs=3, hidden=4, act="tanh").double()
    vector = torch.randn(2, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda v, *_: expected(part(v), 1), (vector, *part.parameters()))


def test_a_scale_upside_down_is_explained() -> None:
    with pytest.raises(RegardError, match="a scale from 5 to 1; expected low below high"):
        RegressHead(inputs=3, low=5, high=1)


def test_the_loss_by_hand() -> None:
    """A score of 3.6 is 0.4 on the step 3 and 0.6 on 4. Of p = ⅛, ⅛, ½, ⅛, ⅛ the divergence is
    0.4 ln(0.4 / ½) + 0.6 ln(0.6 / ⅛); a score of 3 is all on its step: ln 2; a score of 5: ln 8."""
    part, p = RegressHead(inputs=1), [1 / 8, 1 / 8, 1 / 2, 1 / 8, 1 / 8]
    logits = torch.tensor([[log(one) + 7 for one in p]] * 3)
    assert part.loss(logits, torch.tensor([3.6, 3.0, 5.0])).tolist() == pytest.approx(
        [0.4 * log(0.4 / 0.5) + 0.6 * log(0.6 * 8), log(2), log(8)], rel=1e-5
    )
    same = torch.tensor([[log(0.4), log(0.6), -50, -50, -50]])  # the very distribution
    assert part.loss(same, torch.tensor([1.6])).item() == pytest.approx(0, abs=1e-6)


def test_the_gradient_draws_to_the_true_distribution() -> None:
    """∂KL/∂logits = p − target."""
    logits = torch.tensor([[0.3, -0.2, 0.5, 0.1, 0.0]], requires_grad=True)
    RegressHead(inputs=1).loss(logits, torch.tensor([2.25])).sum().backward()
    target = torch.tensor([[0.0, 0.75, 0.25, 0.0, 0.0]])
    torch.testing.assert_close(logits.grad, torch.softmax(logits.detach(), -1) - target, rtol=1e-5, atol=1e-6)


def test_the_answer_is_the_mean() -> None:
    logits = torch.tensor([[0.0] * 5, [log(3), 0.0, -60.0, -60.0, -60.0]])
    [even, one] = RegressHead(inputs=1).answers(logits, [1, 1], [*"12345"])
    assert (even.text, even.log_prob, even.others[0].log_prob) == ("3.0000", None, pytest.approx(log(1 / 5)))
    assert (one.text, one.log_prob, one.others[0].log_prob) == ("1.2500", None, pytest.approx(log(3 / 4)))
    assert [step.text for step in even.others] == [*"12345"]  # equals stay in the order of the scale


def test_the_steps_of_the_scale_stand_beside_it() -> None:
    """p = ⅛, ¼, ½, 1/16, 1/16: a mean of ⅛ + ½ + 1½ + ¼ + 5/16, and the likeliest step first."""
    p = {"3": 1 / 2, "2": 1 / 4, "1": 1 / 8, "4": 1 / 16, "5": 1 / 16}
    logits = torch.tensor([[log(p[step]) - 3 for step in "12345"]])
    [found] = RegressHead(inputs=1).answers(logits, [1], [*"12345"])
    assert {step.text: exp(step.log_prob or 0.0) for step in found.others} == pytest.approx(p)
    assert [step.text for step in found.others] == list(p)
    assert (found.text, found.log_prob, found.log_prob_per_token) == ("2.6875", None, None)
