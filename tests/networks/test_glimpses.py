"""Glimpses: the label teaches everything but where to look, the reward only that; one step by hand."""

import math
from typing import Any

import pytest
import torch

from regard.attend.reinforce import Reinforce
from regard.errors import RegardError
from regard.networks.glimpses import Glimpses
from regard.predict.reward.correct import Correct
from regard.types import Batch, Pixels

pytestmark = pytest.mark.usefixtures("one_thread")


def network(baseline: Any = "learned", **options: Any) -> Glimpses:
    torch.manual_seed(1)
    sizes: dict[str, Any] = {"glimpses": 3, "size": 4, "hidden": 6, "seen": 5, **options}
    reinforce = Reinforce(size=sizes["hidden"], baseline=baseline)
    return Glimpses(labels=3, channels=1, reinforce=reinforce, reward=Correct(), **sizes)


def batch(count: int = 4) -> Batch:
    torch.manual_seed(2)
    return Batch((Pixels(torch.rand(count, 1, 8, 8)),), torch.arange(count) % 3)


def gradients(one: Glimpses, loss: torch.Tensor) -> dict[str, bool]:
    """Parameter → whether it has any gradient of a loss."""
    one.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return {name: p.grad is not None and bool((p.grad != 0).any()) for name, p in one.named_parameters()}


@pytest.mark.parametrize("core", ["relu", "lstm"])
def test_the_label_does_not_teach_where_to_look(core: str) -> None:
    one, some = network(core=core).train(), batch(32)
    path = one.read(some.source, sample=True)
    assert isinstance(some.target, torch.Tensor)
    taught = gradients(one, one.head.loss(path.logits, some.target).sum())
    places = {"W_l.weight", "W_l.bias", "reinforce.value.weight", "reinforce.value.bias"}
    assert {name for name, found in taught.items() if not found} == places


@pytest.mark.parametrize("core", ["relu", "lstm"])
def test_the_reward_teaches_nothing_else(core: str) -> None:
    one, some = network(core=core).train(), batch(32)
    path = one.read(some.source, sample=True)
    earned = torch.rand(32).repeat_interleave(3)
    loss = one.reinforce(path.log_prob.flatten(), earned, path.before.flatten(0, 1)).sum()
    taught = gradients(one, loss)
    places = {"W_l.weight", "W_l.bias", "reinforce.value.weight", "reinforce.value.bias"}
    assert {name for name, found in taught.items() if found} == places


def test_a_place_is_made_likelier_by_its_reward() -> None:
    """∂log N(l; μ, σ²)/∂μ = (l − μ)/σ², and of b_l at the first step, where h = 0: (1 − tanh²(b)) times that."""
    one = network(glimpses=1, sigma=0.5, baseline="none").train()
    torch.nn.init.constant_(one.W_l.bias, 0.3)
    path = one.read(batch(1).source, sample=True)
    (slope,) = torch.autograd.grad(path.log_prob.sum(), one.W_l.bias)
    mean = math.tanh(0.3)
    torch.manual_seed(2)
    torch.rand(1, 1, 8, 8)
    expected = [(1 - mean**2) * (float(place) - mean) / 0.25 for place in path.places[0, 0]]
    assert all(abs(place) < 1 for place in path.places[0, 0])  # else it was moved to the edge
    assert slope.tolist() == pytest.approx(expected, rel=1e-4)


def test_one_step_by_hand() -> None:
    """A white picture, all weights 1, no bias: ρ is 4 ones, its layer 4; the place is (0, 0), its layer 0; g is 4 and
    so is h, and the logits are 4."""
    one = network(glimpses=1, size=2, hidden=1, seen=1).eval()
    with torch.no_grad():
        for name, parameter in one.named_parameters():
            parameter.fill_(0.0 if "bias" in name else 1.0)
    found = one.read(Pixels(torch.ones(1, 1, 8, 8)))
    assert found.logits.tolist() == [[4.0, 4.0, 4.0]]
    assert found.places.tolist() == [[[0.0, 0.0]]]
    assert found.log_prob.tolist() == [[0.0]]


def test_the_state_is_carried() -> None:
    """As above with two steps: from h = 4 the place is tanh(4) in both directions, where a quarter of the patch is
    inside (and a little more), and h grows by what is seen and where."""
    one = network(glimpses=2, size=2, hidden=1, seen=1).eval()
    with torch.no_grad():
        for name, parameter in one.named_parameters():
            parameter.fill_(0.0 if "bias" in name else 1.0)
    found = one.read(Pixels(torch.ones(1, 1, 8, 8)))
    place = math.tanh(4)
    # How far the patch's far column of points is outside: interpolated between a white pixel and nothing.
    far = max(0.0, min(1.0, 1 - ((place + 1) * 4 + 0.5 - 7.5)))
    seen = (1 + far) ** 2
    assert found.logits[0, 0].item() == pytest.approx(4 + seen + 2 * place, abs=1e-5)


def test_evaluation_draws_nothing() -> None:
    one, some = network().eval(), batch()
    assert torch.equal(one.read(some.source).places, one.read(some.source).places)
    torch.manual_seed(3)
    assert not torch.equal(one.read(some.source, sample=True).places, one.read(some.source, sample=True).places)


def test_the_mean_over_several_paths() -> None:
    """By hand: probabilities are averaged, not logits; alone and among others the same; the likeliest path is shown."""
    one, some = network(paths=3).eval(), batch()
    chance = torch.Generator().manual_seed(0)
    places = [None, *(torch.randn(one.glimpses, 2, generator=chance) for _ in range(2))]
    each = [torch.softmax(one.read(some.source, aside=far).logits, -1) for far in places]
    found = one.answer(some.source)
    torch.testing.assert_close(found.logits.exp(), (each[0] + each[1] + each[2]) / 3)
    assert not torch.allclose(each[0], each[1])
    assert torch.equal(found.places, one.read(some.source).places)
    torch.testing.assert_close(one.answer(some.source.select(torch.tensor([1]))).logits, found.logits[1:2])


def test_places_stay_inside() -> None:
    path = network(sigma=5.0).train().read(batch(16).source, sample=True)
    assert path.places.abs().max() == 1


def test_several_draws_of_an_example() -> None:
    """The loss is the mean over them, and counts each picture once."""
    one = network(baseline="others").train()
    found = one(batch())
    assert found.count == 4
    assert torch.isfinite(found.total)
    assert 0 <= found.notes["reward"] <= 1


def test_the_loss_that_is_shown() -> None:
    """Of the label alone; in evaluation that of the likeliest places."""
    one, some = network().eval(), batch()
    assert isinstance(some.target, torch.Tensor)
    found = one(some)
    nats = one.head.loss(one.read(some.source).logits, some.target).sum()
    assert found.shown is not None
    assert found.shown.item() == pytest.approx(nats.item())


def test_a_width_that_cannot_be() -> None:
    with pytest.raises(RegardError, match="sigma"):
        network(sigma=0.0)
