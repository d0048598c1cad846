"""Sparsity: a fixed price, and one that a target teaches."""

import pytest
import torch
from torch.testing import assert_close

from regard.attend.sparsity import Sparsity
from regard.errors import RegardError
from regard.find import check


def test_a_price_is_paid_for_the_share() -> None:
    share = torch.tensor([[0.25, 0.5], [0.75, 0.5]], requires_grad=True)
    cost = Sparsity(policies=2, price=0.4)(share)
    assert_close(cost, torch.tensor([0.2, 0.2]))
    cost.sum().backward()
    assert_close(share.grad, torch.full((2, 2), 0.2))


def test_a_target_by_hand() -> None:
    """0.9 of the tokens where 0.5 are wished: μ = 0.1 · 0.4, λ = μ + 2 · 0.4 = 0.84, and the cost is 0.84 · 0.4."""
    part, share = Sparsity(1, target=0.5, rate=0.1, damping=2.0), torch.full((1, 2), 0.9, requires_grad=True)
    cost = part(share)
    assert_close(cost.detach(), torch.full((2,), 0.336))
    cost.sum().backward()
    assert_close(share.grad, torch.full((1, 2), 0.84))
    assert part.multiplier.item() == pytest.approx(0.04)
    part.eval()(share)
    assert part.multiplier.item() == pytest.approx(0.04)


@pytest.mark.parametrize("worth", [0.3, -0.3])
def test_a_target_is_met(worth: float) -> None:
    """Each token is worth the same, much or less than nothing: the price finds the share."""
    torch.manual_seed(0)
    part, logit = Sparsity(1, target=0.3), torch.zeros(40, requires_grad=True)
    optimiser = torch.optim.Adam([logit], lr=0.02)
    for _ in range(600):
        p = torch.sigmoid(logit)
        optimiser.zero_grad()
        (part(p.mean()[None, None]) - worth * p.mean()).sum().backward()
        optimiser.step()
    assert torch.sigmoid(logit).mean().item() == pytest.approx(0.3, abs=0.03)
    assert part.multiplier.item() == pytest.approx(worth, abs=0.15)


def test_what_is_learned_is_kept() -> None:
    part, other = Sparsity(2, target=0.5), Sparsity(2, target=0.5)
    part(torch.ones(2, 3))
    other.load_state_dict(part.state_dict())
    assert torch.equal(other.multiplier, part.multiplier)
    assert (other.multiplier > 0).all()


def test_each_policy_has_a_price_of_its_own() -> None:
    """One that chooses everything and one that chooses nothing are half of the tokens, and both must move."""
    part, share = Sparsity(2, target=0.5), torch.tensor([[1.0], [0.0]], requires_grad=True)
    part(share).sum().backward()
    assert share.grad is not None
    assert share.grad[0] > 0 > share.grad[1]


def test_shares_that_are_none_are_refused() -> None:
    with pytest.raises(RegardError, match="target: got"):
        check(Sparsity, {"target": 1.5})


def test_the_price_follows_what_would_be_decided_too() -> None:
    """A policy that is unsure of every token chooses half of them on average, and all of them outside training."""
    part, share = Sparsity(1, target=0.5), torch.tensor([[0.5]], requires_grad=True)
    part(share, decided=torch.ones(1, 1)).sum().backward()
    assert part.share.item() == 0.75
    assert share.grad is not None
    assert share.grad.item() == pytest.approx(5.0 * 0.25 + 0.01 * 0.25)


def test_the_target_falls_from_1_by_hand() -> None:
    """Choices begin at 0.2 of the training; half of the rest is 0.4, so at 0.4 half of the way to 0.5 is done."""
    part, share = Sparsity(1, target=0.5, anneal=0.5, rate=0.1, damping=0.0), torch.tensor([[1.0]])
    assert not part.settled(0.95)  # there was no choice yet
    part(share, progress=0.2)
    assert part.multiplier.item() == 0
    assert part.wanted(0.4) == pytest.approx(0.75)
    part(share, progress=0.4)
    assert part.multiplier.item() == pytest.approx(0.1 * 0.25)
    assert not part.settled(0.4)
    assert part.wanted(0.61) == 0.5
    assert not part.settled(0.61)  # averaged weights follow later
    assert part.settled(0.9)
    assert part.wanted(1.0) == 0.5
    other = Sparsity(1, target=0.5, anneal=0.5)
    other.load_state_dict(part.state_dict())
    other.eval()(share, progress=0.4)
    assert other.wanted(0.4) == pytest.approx(0.75)
    assert Sparsity(1, price=0.1).settled(0.0)


def test_a_cut_brings_the_share_to_the_target() -> None:
    """0.8 are selected where ½ are wished: with log-odds of 1 and 3, their deviation being 1, the cut rises by half of
    0.3. Of log-odds from −1 to 3 then half are above 1, and of those from −0.02 to 0 half above −0.01."""
    part, two = Sparsity(2, target=0.5), torch.tensor([[1.0, 3.0, 99.0]])
    there = torch.tensor([[True, True, False]])
    part.rest(torch.tensor([[0.8], [0.5]]), torch.stack([two, two]), there)
    assert part.cut.tolist() == pytest.approx([0.15, 0.0])
    logits = torch.stack([torch.linspace(-1, 3, 200), torch.linspace(-0.02, 0, 200)])[:, None]
    for _ in range(100):
        chosen = logits > part.cut[:, None, None]
        part.rest(chosen.float().mean(-1), logits, torch.ones(1, 200, dtype=torch.bool))
    assert part.cut.tolist() == pytest.approx([1.0, -0.01], abs=0.01)
    other = Sparsity(2, price=0.1)
    other.rest(torch.ones(2, 1), logits, torch.ones(1, 200, dtype=torch.bool))
    assert not other.cut.any()
