"""What every estimator promises: the exact gradient by enumeration, if it says so; padding left alone; exact shares."""

import pytest
import torch
from torch.testing import assert_close

from estimator_cases import LENGTHS, POLICIES, TIME, estimates, exact, f64, logits_of, made, mask_of
from regard import find

names = find.names("attend.estimator")
every = pytest.mark.parametrize("name", names)
by_reward = [name for name in names if not find.find("attend.estimator", name).passes]
through_gates = [name for name in names if find.find("attend.estimator", name).passes]


@pytest.mark.parametrize("name", by_reward)
def test_the_mean_is_the_exact_gradient(name: str) -> None:
    """Within three standard errors, of 20 numbers of 60,000 estimates each (four errors: one in 16,000 is beyond)."""
    part = made(name).eval()
    assert part.unbiased
    if name == "nvil":  # the scale is that of the rewards; a variance of 1 leaves them as they are
        with torch.no_grad():
            part.baseline.value.bias.fill_(-0.7)  # type: ignore[union-attr, operator]
    found, _ = estimates(part, 60_000)
    error = found.std(2) / found.shape[2] ** 0.5
    wanted = exact()
    assert ((found.mean(2) - wanted).abs() <= 4 * error + 1e-9).all()
    assert ((found.mean(2) - wanted).abs() <= 3 * error + 1e-9).float().mean() > 0.9
    assert (wanted.abs() > 10 * error).any()  # three errors are not a barn door


@pytest.mark.parametrize("name", through_gates)
def test_those_that_are_biased_say_so(name: str) -> None:
    """On a reward that is not linear in each gate the mean is another gradient, by far more than chance."""
    part = made(name)
    assert not part.unbiased
    found, _ = estimates(part, 60_000)
    error = found.std(2) / found.shape[2] ** 0.5
    assert ((found.mean(2) - exact()).abs() > 6 * error + 1e-9).any()


@every
def test_the_expected_share_is_exact(name: str) -> None:
    """Of 20,000 draws, and so its gradient: that of the mean probability. (Other copies may have a token flipped.)"""
    part = made(name)
    _, gates = estimates(part, 20_000)
    n = torch.tensor(LENGTHS, dtype=f64)
    shares = gates.chosen.view(POLICIES, 2, part.copies, -1, TIME)[:, :, 0].sum(-1) / n[:, None]
    wanted = gates.expected.view(POLICIES, 2, -1)
    assert_close(wanted, wanted[..., :1].expand_as(wanted))
    error = shares.std(-1) / shares.shape[-1] ** 0.5
    assert ((shares.mean(-1) - wanted[..., 0]).abs() <= 4 * error).all()


@every
def test_padding_is_never_chosen_and_never_taught(name: str) -> None:
    found, gates = estimates(made(name), 50)
    rows = gates.chosen.shape[1] // 2
    assert not gates.chosen[:, rows:, 2].any()
    assert not found[:, 1, :, 2].any()
    if gates.values is not None:
        assert not gates.values[:, rows:, 2].any()
        assert torch.equal(gates.values > 0, gates.chosen) or name == "straight_through_bernoulli"
        assert ((gates.values >= 0) & (gates.values <= 1)).all()
    assert gates.values is None or find.find("attend.estimator", name).passes


@every
def test_extreme_logits_stay_finite(name: str) -> None:
    part = made(name)
    logits = torch.tensor([[[60.0, -60.0, 0.0]] * 2 * part.copies], dtype=f64, requires_grad=True)
    gates = part.choose(logits, torch.ones(2 * part.copies, 3, dtype=torch.bool), sides=2, copies=part.copies)
    assert gates.chosen[..., 0].all()
    assert not gates.chosen[..., 1].any()
    total = gates.score.sum() + gates.entropy.sum() + gates.expected.sum()
    total = total if gates.values is None else total + gates.values.sum()
    (slope,) = torch.autograd.grad(total, logits)
    assert slope.isfinite().all()


@every
def test_the_choice_outside_training_is_certain(name: str) -> None:
    part = made(name)
    logits, mask = logits_of().flatten(1, 1), mask_of(1)
    once, again = part.decide(logits, mask), part.decide(logits, mask)
    assert torch.equal(once.chosen, again.chosen)
    assert not once.chosen[:, 1, 2].any()
    high = part.decide(torch.full_like(logits, 8.0), mask)
    assert torch.equal(high.chosen, mask.expand_as(high.chosen))
    assert not part.decide(torch.full_like(logits, -8.0), mask).chosen.any()


@every
def test_the_variance_of_the_gradient_is_followed(name: str) -> None:
    part = made(name)
    logits = torch.zeros(1, 4 * part.copies, 3, dtype=f64, requires_grad=True)
    mask = torch.ones(4 * part.copies, 3, dtype=torch.bool)
    gates = part.draw(logits, mask, copies=part.copies)
    pull = torch.arange(12.0 * part.copies, dtype=f64).view(-1, 3)
    assert part.variance == 0
    total = gates.expected.sum() if gates.values is None else (gates.values * pull).sum()
    torch.autograd.grad(total, logits)
    assert part.variance.isfinite()
