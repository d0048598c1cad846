"""Gumbel-softmax: a = softmax((e + g)/τ)."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attend.normalizer.gumbel import Gumbel
from regard.attend.normalizer.softmax import softmax
from regard.errors import RegardError

# softmax = (1, 2, 5) / 8
scores = torch.tensor([0.0, math.log(2), math.log(5)])
p = torch.tensor([1 / 8, 2 / 8, 5 / 8])


def normalizer(gumbel: Gumbel, e: Tensor, mask: Tensor | None = None) -> Tensor:
    weights = gumbel(e, mask).soft
    assert weights is not None
    return weights


def test_numbers_by_hand_without_noise() -> None:
    assert_close(normalizer(Gumbel().eval(), scores), p)
    # τ = 0.5 squares what is exponentiated: (1, 4, 25) / 30
    assert_close(normalizer(Gumbel(temperature=0.5).eval(), scores), torch.tensor([1 / 30, 4 / 30, 25 / 30]))
    assert normalizer(Gumbel(hard=True).eval(), scores).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_the_heaviest_key_of_a_draw_follows_the_softmax(temperature: float) -> None:
    """The Gumbel-max trick: argmax(e + g) is a draw of softmax(e), at any temperature."""
    draws = 20_000
    weights = normalizer(Gumbel(temperature, hard=True).train(), scores.expand(draws, 3))
    assert_close(weights.sum(-1), torch.ones(draws))
    error = (p * (1 - p) / draws).sqrt()
    assert ((weights.mean(0) - p).abs() <= 4 * error).all()


def test_frequencies_under_a_mask() -> None:
    draws = 20_000
    weights = normalizer(Gumbel(hard=True).train(), scores.expand(draws, 3), torch.tensor([True, False, True]))
    visible = torch.tensor([1 / 6, 0.0, 5 / 6])
    assert (weights[:, 1] == 0).all()
    assert ((weights.mean(0) - visible).abs() <= 4 * (visible * (1 - visible) / draws).sqrt()).all()


def test_the_noise_is_gumbel() -> None:
    """log a_1 − log a_2 = e_1 − e_2 + (g_1 − g_2), and the difference of two Gumbels is logistic: variance π²/3."""
    draws = 20_000
    weights = normalizer(Gumbel().train(), torch.zeros(draws, 2))
    noise = (weights[:, 0] / weights[:, 1]).log().double()
    assert noise.mean().abs() < 4 * math.sqrt(math.pi**2 / 3 / draws)
    # The fourth moment of a logistic is 7π⁴/15, so its square has a variance of 7π⁴/15 − π⁴/9.
    spread = math.sqrt((7 / 15 - 1 / 9) * math.pi**4 / draws)
    assert (noise.square().mean() - math.pi**2 / 3).abs() < 4 * spread


def test_a_seed_gives_the_same_draw_and_no_seed_another() -> None:
    gumbel, e = Gumbel().train(), torch.randn(4, 5)
    torch.manual_seed(7)
    first = normalizer(gumbel, e)
    assert not torch.equal(normalizer(gumbel, e), first)
    torch.manual_seed(7)
    assert torch.equal(normalizer(gumbel, e), first)


def test_outside_training_there_is_no_noise() -> None:
    gumbel, e = Gumbel().eval(), torch.randn(4, 5)
    assert torch.equal(normalizer(gumbel, e), normalizer(gumbel, e))
    assert torch.equal(normalizer(gumbel, e), softmax(e))


def test_the_scores_given_are_left_alone() -> None:
    e = torch.randn(4, 5)
    before = e.clone()
    normalizer(Gumbel().train(), e)
    assert torch.equal(e, before)


def test_a_lower_temperature_is_harder() -> None:
    e, heaviest = torch.randn(500, 6), []
    for temperature in (5.0, 1.0, 0.2):
        torch.manual_seed(1)
        heaviest.append(normalizer(Gumbel(temperature).train(), e).amax(-1).mean().item())
    assert heaviest == sorted(heaviest)
    assert heaviest[-1] > 0.9


def test_hard_learns_through_the_soft_draw() -> None:
    e = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    upstream, slopes = torch.randn(6, 4).double(), []
    for hard in (True, False):
        torch.manual_seed(2)
        weights = normalizer(Gumbel(temperature=0.7, hard=hard).train(), e)
        slopes.append(torch.autograd.grad((weights * upstream).sum(), e)[0])
        if hard:
            assert weights.detach().unique().tolist() == [0.0, 1.0]
    assert_close(slopes[0], slopes[1])


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_the_temperature_is_positive(temperature: float) -> None:
    with pytest.raises(RegardError, match="temperature: got"):
        Gumbel(temperature=temperature)
