"""Sample: one key drawn from the softmax, with its log-probability and the entropy."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attend.normalizer.sample import Sample, keeping

# softmax = (1, 2, 5) / 8
scores = torch.tensor([0.0, math.log(2), math.log(5)])
p = torch.tensor([1 / 8, 2 / 8, 5 / 8])


def close_to(counts: Tensor, probabilities: Tensor, draws: int) -> bool:
    """Within four standard errors of what the probabilities say."""
    error = (probabilities * (1 - probabilities) / draws).sqrt()
    return bool(((counts / draws - probabilities).abs() <= 4 * error).all())


def test_numbers_by_hand() -> None:
    normalized = Sample().eval()(scores)
    assert normalized.choice is not None
    assert normalized.choice.item() == 2
    # log 5/8 = −0.470004;  H = (1 log 8 + 2 log 4 + 5 log 8/5) / 8 = 0.900256
    assert_close(normalized.log_prob, torch.tensor(-0.470004), atol=1e-5, rtol=0)
    assert_close(normalized.entropy, torch.tensor(0.900256), atol=1e-5, rtol=0)


def test_frequencies_are_the_softmax() -> None:
    draws = 20_000
    normalized = Sample().train()(scores.expand(draws, 3))
    assert close_to(torch.bincount(normalized.choice, minlength=3), p, draws)
    # The mean log-probability of what was drawn is −H; each draw carries its own.
    assert_close(normalized.log_prob, p.log()[normalized.choice])
    assert_close(normalized.entropy, torch.full((draws,), -(p * p.log()).sum().item()))


def test_frequencies_under_a_mask() -> None:
    draws = 20_000
    seen = torch.tensor([True, False, True])
    normalized = Sample().train()(scores.expand(draws, 3), seen)
    counts = torch.bincount(normalized.choice, minlength=3)
    assert counts[1] == 0
    visible = torch.tensor([1 / 6, 5 / 6])
    assert close_to(counts[seen], visible, draws)
    assert_close(normalized.entropy[0], -(visible * visible.log()).sum())
    assert_close(normalized.log_prob.exp().unique(), visible)


def test_outside_training_the_best_is_taken_unless_always() -> None:
    many = scores.expand(200, 3)
    assert (Sample().eval()(many).choice == 2).all()
    assert Sample(always=True).eval()(many).choice.unique().tolist() == [0, 1, 2]


def test_the_same_seed_draws_the_same() -> None:
    sample, many = Sample().train(), torch.randn(50, 7)
    torch.manual_seed(3)
    first = sample(many).choice
    assert not torch.equal(sample(many).choice, first)
    torch.manual_seed(3)
    assert torch.equal(sample(many).choice, first)


def test_gradients_by_enumeration() -> None:
    """∇ log p_i = 1_i − p, whatever was drawn; the entropy's gradient against finite differences."""
    e = torch.randn(40, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([True, True, False, True])
    normalized = Sample().train()(e, mask)
    assert normalized.log_prob is not None
    assert normalized.choice is not None
    (slope,) = torch.autograd.grad(normalized.log_prob.sum(), e)
    soft = torch.softmax(e.detach().masked_fill(~mask, float("-inf")), dim=-1)
    assert_close(slope, torch.nn.functional.one_hot(normalized.choice, 4) - soft)
    assert torch.autograd.gradcheck(lambda x: Sample().eval()(x, mask).entropy, (e[:3],))


def test_a_row_with_nothing_visible_says_nothing() -> None:
    e = torch.randn(2, 3, requires_grad=True)
    normalized = Sample().train()(e, torch.tensor([[False, False, False], [True, True, False]]))
    assert normalized.log_prob is not None
    assert normalized.entropy is not None
    assert normalized.log_prob[0] == 0
    assert normalized.entropy[0] == 0
    (normalized.log_prob + normalized.entropy).sum().backward()
    assert e.grad is not None
    assert (e.grad[0] == 0).all()
    assert e.grad.isfinite().all()


def test_a_sure_choice_has_no_entropy() -> None:
    e = torch.tensor([[0.0, 1e4, -1e4]], requires_grad=True)
    normalized = Sample().train()(e)
    assert normalized.entropy is not None
    assert normalized.log_prob is not None
    assert normalized.entropy.item() == 0
    assert normalized.log_prob.item() == 0
    (normalized.entropy + normalized.log_prob).sum().backward()
    assert e.grad is not None
    assert e.grad.isfinite().all()


def test_the_narrowest_numbers_overflow_without_harm() -> None:
    """In float16 a hidden key's log-probability is −∞; its p·log p still counts as nothing."""
    e = torch.tensor([[20.0, 19.0, 5.0]], dtype=torch.float16, requires_grad=True)
    normalized = Sample().train()(e, torch.tensor([True, True, False]))
    assert normalized.entropy is not None
    assert normalized.log_prob is not None
    # p = (e, 1)/(e + 1) = (0.731059, 0.268941), H = 0.582203
    assert_close(normalized.entropy.float(), torch.tensor([0.582203]), atol=2e-3, rtol=0)
    (normalized.entropy + normalized.log_prob).sum().backward()
    assert e.grad is not None
    assert e.grad.isfinite().all()


def test_some_sentences_take_the_expected_value_by_hand() -> None:
    scores = torch.tensor([[[0.0, 1.0, 2.0]], [[0.0, 1.0, 2.0]], [[0.0, 0.0, 0.0]]], dtype=torch.float64)
    mask = torch.tensor([[[True, True, False]], [[True, True, False]], [[False, False, False]]])
    with keeping(torch.tensor([True, False, False])):
        normalized = Sample().eval()(scores, mask)
    second = torch.sigmoid(torch.tensor(1.0)).item()
    assert normalized.soft is not None
    assert normalized.soft[:, 0].tolist() == [[0, 1, 0], pytest.approx([1 - second, second, 0]), [0, 0, 0]]
    assert normalized.log_prob is not None
    assert normalized.log_prob[2].item() == 0
