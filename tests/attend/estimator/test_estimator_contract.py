"""What every estimator promises: the exact gradient by enumeration where it says so, padding left alone, exact shares."""

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import find
from regard.attend.estimator import Estimator, Gates
from regard.attend.reinforce import Reinforce

names = find.names("attend.estimator")
every = pytest.mark.parametrize("name", names)
by_reward = [name for name in names if not find.find("attend.estimator", name).passes]
through_gates = [name for name in names if find.find("attend.estimator", name).passes]
LENGTHS = [3, 2]  # of the two inputs of the example
TIME, POLICIES = 3, 2
f64 = torch.float64


def made(name: str, **options: Any) -> Estimator:
    part: Estimator = find.build("attend.estimator", {"name": name, **options}, size=1, samples=2)
    return part.double()


def mask_of(rows: int) -> Tensor:
    """Of `rows` rows of each input, one after the other."""
    each = torch.arange(TIME) < torch.tensor(LENGTHS)[:, None]
    return each.repeat_interleave(rows, 0)


def logits_of() -> Tensor:
    """Of each policy and input."""
    return torch.tensor([[[0.7, -1.2, 0.1], [1.5, -0.3, 9.0]], [[-0.8, 0.4, 2.0], [0.2, 0.9, 9.0]]], dtype=f64)


def reward(z: Tensor) -> Tensor:
    """Of gates `[policy, side, …, time]`; the last token of the second input is not there."""
    a, b = z[0], z[1]
    first = a[0][..., 0] * b[1][..., 1] - 2 * a[0][..., 1] * (1 - b[0][..., 2])
    return -1 + first + 1.5 * a[1][..., 0] * a[0][..., 2] ** 2 + b[1][..., 0] * b[0][..., 0] - 0.5 * a[1][..., 1] ** 3


def exact() -> Tensor:
    """∂ Σ_z p(z) R(z), all choices of the ten tokens at once."""
    logits = logits_of().requires_grad_()
    there = mask_of(1).view(2, TIME).expand(POLICIES, 2, TIME)
    choices = torch.tensor(list(itertools.product([0.0, 1.0], repeat=int(there.sum()))), dtype=f64)
    z = torch.zeros(len(choices), POLICIES, 2, TIME, dtype=f64)
    z[:, there] = choices
    p = torch.sigmoid(logits)
    chance = torch.where(there, torch.where(z > 0, p, 1 - p), 1.0).flatten(1).prod(1)
    assert_close(chance.sum(), torch.ones((), dtype=f64))
    (found,) = torch.autograd.grad((chance * reward(z.permute(1, 2, 0, 3))).sum(), logits)
    return found


def estimates(part: Estimator, batch: int, value: Any = reward) -> tuple[Tensor, Gates]:
    """An estimate for each of so many copies of the example: `[policy, side, batch, time]`."""
    copies = part.copies
    logits = logits_of()[:, :, None, None].repeat(1, 1, copies, batch, 1).flatten(1, 3).requires_grad_()
    mask = mask_of(copies * batch)
    gates = part.choose(logits, mask, sides=2, copies=copies)
    z = gates.chosen.to(f64) if gates.values is None else gates.values
    R = value(z.view(POLICIES, 2, copies * batch, TIME))
    if part.passes:
        loss = -R
    else:
        score, entropy = (one.view(POLICIES, 2, -1).sum((0, 1)) for one in (gates.score, gates.entropy))
        reinforce = Reinforce(size=1, baseline="others", samples=2).double()
        summary = torch.ones(copies * batch, 1, dtype=f64)
        loss = part.loss(score, R.detach(), reinforce, entropy=entropy, summary=summary, copies=copies)
    (slope,) = torch.autograd.grad(loss.sum() / copies, logits)
    return -slope.view(POLICIES, 2, copies, batch, TIME).sum(2), gates


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


def test_single_flip_by_hand() -> None:
    """Two tokens at l = 0, R = 3 z_1: the first is asked half of the time and then gets 2 · ¼ · 3, the second 0."""
    part = made("single_flip")
    logits = torch.zeros(1, 2000, 2, dtype=f64, requires_grad=True)
    gates = part.choose(logits, torch.ones(2000, 2, dtype=torch.bool), sides=1, copies=2)
    R = 3.0 * gates.chosen[0, :, 0]
    (slope,) = torch.autograd.grad((R * gates.score[0]).sum() / 2, logits)
    each = slope.view(2, 1000, 2).sum(0)
    asked = gates.chosen[0, :1000, 0] != gates.chosen[0, 1000:, 0]
    assert_close(each[:, 0], torch.where(asked, 1.5, 0.0).to(f64))
    assert not each[:, 1].any()
    assert 400 < asked.sum() < 600


def test_several_flips_are_less_noisy() -> None:
    few, many = (estimates(made("single_flip", flips=flips), 4000)[0] for flips in (1, 4))
    assert many.var(2).sum() < 0.5 * few.var(2).sum()


def test_the_gates_outside_training_by_hand() -> None:
    """Louizos: σ(0) · 1.2 − 0.1 = ½. Kuma at l = 0 is uniform: a chance of 1/12 for 0 and for 1, so ½ is the answer."""
    mask = torch.ones(1, 1, dtype=torch.bool)
    for name in ("hard_concrete", "hard_kuma"):
        gates = made(name).decide(torch.zeros(1, 1, 1, dtype=f64), mask)
        assert gates.values is not None
        assert gates.values.item() == pytest.approx(0.5)
    kuma = made("hard_kuma").choose(torch.zeros(1, 1, 1, dtype=f64), mask)
    assert kuma.expected.item() == pytest.approx(11 / 12)
    concrete = made("hard_concrete").choose(torch.zeros(1, 1, 1, dtype=f64), mask)
    assert concrete.expected.item() == pytest.approx(1 / (1 + 11 ** (-2 / 3)), rel=1e-6)  # σ(⅔ log 11)
