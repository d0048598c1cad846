"""Reinforce: the estimate against the exact gradient by enumeration, and what the baselines do."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard import find
from regard.attend.bernoulli import log_prob_and_entropy, share
from regard.attend.normalizer.sample import Sample
from regard.attend.reinforce import Reinforce, mix, surrogate
from regard.attend.selector import Selector
from regard.errors import RegardError
from regard.types import Selection

f64 = torch.float64
baselines = ["none", "moving", "learned", "others"]


def subsets(n: int) -> Tensor:
    return torch.tensor(list(itertools.product([False, True], repeat=n)))


def worth(chosen: Tensor) -> Tensor:
    """A reward that no sum over the tokens can express, around −3."""
    z = chosen.double()
    return -3 + z[:, 0] * z[:, 1] - 2 * z[:, 2] * (1 - z[:, 0]) + 0.5 * z.sum(-1)


def test_numbers_worked_by_hand() -> None:
    log_p = torch.tensor([math.log(0.25), math.log(0.5)], dtype=f64, requires_grad=True)
    R, b, H = torch.tensor([2.0, -1.0], dtype=f64), torch.tensor([0.5, 0.5], dtype=f64), torch.tensor([0.3, 0.7])
    loss = surrogate(log_p, R, b, H.double().requires_grad_(), scale=2.0, bonus=0.1)
    # −(2·1.5·log ¼ + 0.1·0.3) = 4.128883…; −(2·(−1.5)·log ½ + 0.1·0.7) = −2.149442…
    assert_close(loss, torch.tensor([4.128883083, -2.149441542], dtype=f64), atol=1e-6, rtol=0)
    loss.sum().backward()
    assert_close(log_p.grad, torch.tensor([-3.0, 3.0], dtype=f64))


def test_reward_and_baseline_are_held_fixed() -> None:
    log_p, R, b = (torch.randn(3, requires_grad=True) for _ in range(3))
    surrogate(log_p, R, b).sum().backward()
    assert R.grad is None
    assert b.grad is None


def test_steps_add_up_and_a_reward_may_be_of_a_step() -> None:
    log_p, H = torch.randn(2, 3, dtype=f64), torch.rand(2, 3, dtype=f64)
    R, b = torch.randn(2, dtype=f64), torch.randn(2, dtype=f64)
    whole = surrogate(log_p, R, b, H, bonus=0.5)
    assert_close(whole, surrogate(log_p.sum(1), R, b, H.sum(1), bonus=0.5))
    assert_close(whole, surrogate(log_p, R[:, None].expand(2, 3), b[:, None].expand(2, 3), H, bonus=0.5))
    by_step = torch.randn(2, 3, dtype=f64)
    assert_close(surrogate(log_p, by_step), -(by_step * log_p).sum(1))
    # A step that is not there says nothing: alone and in a batch the same.
    longer = torch.cat([log_p, torch.zeros(2, 2, dtype=f64)], dim=1)
    assert_close(surrogate(longer, R, b), surrogate(log_p, R, b))


@pytest.mark.parametrize("n", [3, 5])
def test_the_mean_of_the_estimate_is_the_exact_gradient(n: int) -> None:
    """Every subset with its own probability, and no sampling: the estimator has no bias at all, whatever b is."""
    selector = Selector(inputs=3, start=0.3).double()
    with torch.no_grad():
        selector.w.mul_(10)
    x, mask, z = torch.randn(1, n, 3, dtype=f64), torch.ones(2**n, n, dtype=torch.bool), subsets(n)
    parameters = list(selector.parameters())

    def measured() -> tuple[Tensor, Tensor]:
        return log_prob_and_entropy(selector.logits(x, mask[:1])[0].expand(2**n, n), z, mask)

    log_p, H = measured()
    assert_close(log_p.exp().sum(), torch.tensor(1.0, dtype=f64))
    assert_close(H[0], -(log_p.exp() * log_p).sum())  # the tokens are independent: the entropies add up
    exact = torch.autograd.grad(-(2.0 * (log_p.exp() * worth(z)).sum() + 0.3 * H[0]), parameters)
    for b in (0.0, -3.0, 17.0):
        log_p, H = measured()
        loss = surrogate(log_p, worth(z), torch.full((2**n,), b, dtype=f64), H, scale=2.0, bonus=0.3)
        estimate = torch.autograd.grad((log_p.exp().detach() * loss).sum(), parameters)
        assert_close(estimate, exact)


def within(estimates: Tensor, exact: Tensor, errors: float = 3.0) -> bool:
    """The mean of the estimates (first axis) lies within so many standard errors of the exact number."""
    error = estimates.std(0) / len(estimates) ** 0.5
    return bool(((estimates.mean(0) - exact).abs() <= errors * error).all())


def by_example(slopes: Tensor, reinforce: Reinforce) -> Tensor:
    """Draws that were measured by each other are one estimate, not several."""
    return slopes.unflatten(0, (reinforce.copies, -1)).mean(0)


def made(baseline: Any, **options: Any) -> Reinforce:
    return Reinforce(size=2, baseline=baseline, **options).double()


@pytest.mark.parametrize("baseline", baselines)
def test_subsets_that_were_drawn(baseline: Any) -> None:
    """40 batches of 500 drawn subsets, b moving or learning as they go: each token's logit gets the exact gradient."""
    n, z = 4, subsets(4)
    logits = torch.tensor([0.5, -0.7, 1.2, 0.1], dtype=f64, requires_grad=True)
    log_p, H = log_prob_and_entropy(logits.expand(len(z), n), z, torch.ones_like(z))
    (exact,) = torch.autograd.grad(-(1.5 * (log_p.exp() * worth(z)).sum() + 0.2 * H[0]), logits)

    reinforce = made(baseline, scale=1.5, bonus=0.2)
    optimiser = torch.optim.SGD(reinforce.parameters(), lr=0.1) if baseline == "learned" else None
    found = []
    for _ in range(40):
        each = logits.detach().expand(500, n).clone().requires_grad_()
        chosen = torch.rand(500, n) < torch.sigmoid(each.detach())
        choice = Selection("tokens", chosen, *log_prob_and_entropy(each, chosen, torch.ones_like(chosen)))
        summary = torch.randn(500, 2, dtype=f64)
        reinforce.zero_grad()
        loss = reinforce([choice], worth(chosen), summary, copies=reinforce.copies)
        loss.sum().backward(inputs=[each, *reinforce.parameters()])
        assert each.grad is not None
        found.append(by_example(each.grad, reinforce))
        if optimiser is not None:
            for parameter in reinforce.parameters():
                assert parameter.grad is not None
                parameter.grad /= 500
            optimiser.step()
    estimates = torch.cat(found)
    assert within(estimates, exact)
    assert not within(estimates, exact + 0.1)  # fine enough to see a bias of that size


def test_a_selector_as_it_is_used() -> None:
    """`choose` and `Reinforce` together: all parameters of the policy get the exact gradient, padding and all."""
    selector = Selector(inputs=2, hidden=2).double()
    with torch.no_grad():
        selector.w.mul_(10)
    x, mask, n = torch.randn(1, 4, 2, dtype=f64), torch.tensor([[True, True, True, False]]), 3
    parameters = list(selector.parameters())
    z = subsets(n)
    log_p, H = log_prob_and_entropy(selector.logits(x, mask)[0, :, :n].expand(2**n, n), z, torch.ones_like(z))
    gradients = torch.autograd.grad(-((log_p.exp() * worth(z)).sum() + 0.2 * H[0]), parameters)
    exact = torch.cat([g.flatten() for g in gradients])

    reinforce, found = made("moving", bonus=0.2), []
    for _ in range(200):
        (choice,) = selector(x.expand(100, 4, 2), mask.expand(100, 4), sample=True)
        loss = reinforce([choice], worth(choice.chosen[:, :n])).mean()
        found.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)]))
    assert within(torch.stack(found), exact)


@pytest.mark.parametrize("baseline", baselines)
def test_a_key_that_was_drawn(baseline: Any) -> None:
    """Hard attention, two queries a sentence: every key by enumeration against the sampling normalizer."""
    scores = torch.tensor([[0.3, -1.0, 0.8, 5.0], [0.0, 0.4, -0.2, 5.0]], dtype=f64, requires_grad=True)
    mask = torch.tensor([True, True, True, False])
    value = torch.tensor([[1.0, 4.0, -2.0, 9.0], [0.5, -3.0, 2.0, 9.0]], dtype=f64)
    p = torch.softmax(scores.masked_fill(~mask, -1e9), dim=-1)
    H = -(p * p.clamp(min=1e-30).log()).sum()
    expected = p[0] @ value[0] + p[1] @ value[1]  # the reward of a sentence is the sum of what its keys are worth
    (exact,) = torch.autograd.grad(-(expected + 0.1 * H), scores)

    reinforce, sample, found = made(baseline, bonus=0.1), Sample().train(), []
    for _ in range(20):
        each = scores.detach().expand(1000, 2, 4).clone().requires_grad_()
        drawn = sample(each, mask)
        assert drawn.choice is not None
        assert drawn.log_prob is not None
        R = value.expand(1000, 2, 4).gather(-1, drawn.choice.unsqueeze(-1)).sum((1, 2))
        told: dict[str, Any] = {"entropy": drawn.entropy, "copies": reinforce.copies}
        reinforce(drawn.log_prob, R, torch.ones(1000, 2, dtype=f64), **told).sum().backward()
        assert each.grad is not None
        found.append(by_example(each.grad, reinforce))
    estimates = torch.cat(found)
    assert within(estimates, exact)
    assert (estimates[..., 3] == 0).all()


def drawn_variance(reinforce: Reinforce, level: float) -> float:
    """Of the gradient of one logit whose yes or no earns ±½ around some level."""
    torch.manual_seed(1)
    estimates = []
    for _ in range(30):
        each = torch.zeros(200, 1, dtype=f64, requires_grad=True)
        chosen = torch.rand(200, 1) < 0.5
        log_p, _ = log_prob_and_entropy(each, chosen, torch.ones_like(chosen))
        reinforce(log_p, level + chosen[:, 0].double() - 0.5).sum().backward()
        assert each.grad is not None
        estimates.append(each.grad)
    return torch.cat(estimates).var().item()


def test_a_moving_baseline_steadies_the_estimate() -> None:
    """∂log p = ±½, so the variance is about (level/2)² without a baseline, and with one what the ±½ leave."""
    without, moving = drawn_variance(made("none"), 10.0), drawn_variance(made("moving"), 10.0)
    assert 20 < without < 30
    assert moving < 0.01  # the first batch counts too: it is not met with a baseline of 0


def spread(baseline: Any) -> Tensor:
    """Estimates of one step, `[run, token]`: 8 draws, of 4 sentences twice or of 8, each token worth 0.1 and sentences
    nats apart."""
    torch.manual_seed(3)
    reinforce, found = made(baseline), []
    for _ in range(400):
        copies = reinforce.copies
        logits = torch.zeros(5, dtype=f64, requires_grad=True)
        chosen = torch.rand(8, 5) < 0.5
        log_p, _ = log_prob_and_entropy(logits.expand(8, 5), chosen, torch.ones_like(chosen))
        level = torch.randn(8 // copies, dtype=f64).repeat(copies)
        loss = reinforce(log_p, level + 0.1 * chosen.double().sum(-1), copies=copies).mean()
        found.append(torch.autograd.grad(-loss, logits)[0])
    return torch.stack(found)


def test_other_draws_of_the_same_steady_the_estimate_where_sentences_differ() -> None:
    """The gradient is 0.1·p(1 − p) = 0.025; as many draws, and the noise of sentences is gone from it."""
    moving, others = spread("moving"), spread("others")
    assert within(moving, torch.tensor(0.025))
    assert within(others, torch.tensor(0.025))
    assert others.var(0).max() < moving.var(0).min() / 10


def test_the_other_draws_by_hand() -> None:
    """Two sentences, three draws: 1, 4, 7 of the first against 5.5, 4, 2.5, and 0, 0, 3 of the second."""
    reinforce, log_p = made("others", samples=3), torch.ones(6, dtype=f64)
    R = torch.tensor([1.0, 0.0, 4.0, 0.0, 7.0, 3.0], dtype=f64)
    assert reinforce.copies == 3
    assert made("moving", samples=3).copies == 1
    assert_close(reinforce(log_p, R, copies=3), torch.tensor([4.5, 1.5, 0.0, 1.5, -4.5, -3.0], dtype=f64))
    assert_close(reinforce.average, torch.tensor(2.5, dtype=f64))
    # One that did not keep its sample is nobody's measure, and who has no other is measured by the average.
    kept = torch.tensor([True, False, False, True, True, False])
    loss = reinforce(log_p, R, kept=kept, copies=3)
    assert_close(loss, torch.tensor([6.0, 0.0, 0.0, 2.5, -6.0, 0.0], dtype=f64))
    # A reward that is no number shows in its own loss and in no other's.
    loss = made("others")(log_p[:4], torch.tensor([float("nan"), 1.0, 5.0, 3.0], dtype=f64), copies=2)
    assert loss.isnan().tolist() == [True, False, False, False]
    assert_close(loss[[1, 3]], torch.tensor([2.0, -2.0], dtype=f64))


def test_the_moving_average() -> None:
    reinforce = made("moving", decay=0.75)
    log_p = torch.zeros(2, dtype=f64)
    for rewards, b in (([4.0, 6.0], 5.0), ([9.0, 9.0], 6.0), ([6.0, 6.0], 6.0)):  # the first starts it; ¾·5 + ¼·9 = 6
        reinforce(log_p, torch.tensor(rewards, dtype=f64))
        assert_close(reinforce.average, torch.tensor(b, dtype=f64))
    # Used before it is moved: the advantage is 8 − 6, though the average is 6.5 after.
    loss = reinforce(torch.ones(2, dtype=f64), torch.full((2,), 8.0, dtype=f64))
    assert_close(loss, torch.full((2,), -2.0, dtype=f64))
    assert_close(reinforce.average, torch.tensor(6.5, dtype=f64))
    reinforce.eval()
    loss = reinforce(torch.ones(2, dtype=f64), torch.full((2,), 8.0, dtype=f64))
    assert_close(loss, torch.full((2,), -1.5, dtype=f64))
    assert_close(reinforce.average, torch.tensor(6.5, dtype=f64))  # outside training it stays


def test_the_first_batch_is_measured_by_the_others_in_it() -> None:
    """1, 2, 6 against the mean of the other two: 4, 3.5, 1.5. A batch of one has none, and b is 0."""
    loss = made("moving")(torch.ones(3, dtype=f64), torch.tensor([1.0, 2.0, 6.0], dtype=f64))
    assert_close(loss, torch.tensor([3.0, 1.5, -4.5], dtype=f64))
    assert_close(
        made("moving")(torch.ones(1, dtype=f64), torch.tensor([5.0], dtype=f64)), torch.tensor([-5.0]).double()
    )


def test_a_reward_that_is_no_number_does_not_stay() -> None:
    reinforce = made("moving", normalise=True)
    for R in ([1.0, 3.0], [float("-inf"), 2.0], [float("nan"), float("nan")]):
        loss = reinforce(torch.ones(2, dtype=f64), torch.tensor(R, dtype=f64))
        assert loss.isfinite().all().item() is all(map(math.isfinite, R))  # but it shows
    assert_close(reinforce.average, torch.tensor(2.0, dtype=f64))
    assert reinforce.variance.isfinite()


def test_the_average_is_saved_with_the_weights() -> None:
    reinforce, other = Reinforce(size=None), Reinforce(size=None)
    reinforce(torch.zeros(2), torch.tensor([1.0, 2.0]))
    other.load_state_dict(reinforce.state_dict())
    assert other.average.item() == 1.5
    assert other.started.item() is True
    assert_close(other.eval()(torch.ones(1), torch.tensor([2.0])), torch.tensor([-0.5]))


def test_an_average_that_was_known_may_be_put_back() -> None:
    """That there is one is asked only once, but weights that are read may say that there is none."""
    reinforce, fresh = Reinforce(size=None), Reinforce(size=None)
    for _ in range(2):
        reinforce(torch.zeros(2), torch.tensor([1.0, 2.0]))
    assert reinforce.sure
    reinforce.load_state_dict(fresh.state_dict())
    reinforce(torch.zeros(2), torch.tensor([5.0, 7.0]))
    assert reinforce.average.item() == 6.0


def test_a_learned_baseline_learns_and_leaves_the_summary_alone() -> None:
    """The reward is 3·s: the head finds it from the loss, and no gradient reaches the summary or the reward."""
    reinforce = Reinforce(size=1, baseline="learned")
    assert reinforce.value is not None
    optimiser = torch.optim.Adam(reinforce.parameters(), lr=0.05)
    for _ in range(300):
        s = torch.randn(64, 1, requires_grad=True)
        R = 3 * s[:, 0]
        log_p = torch.randn(64, requires_grad=True)
        optimiser.zero_grad()
        reinforce(log_p, R, s).mean().backward()
        assert s.grad is None
        optimiser.step()
    assert_close(reinforce.value.weight, torch.tensor([[3.0]]), atol=0.05, rtol=0)
    assert_close(reinforce.value.bias, torch.tensor([0.0]), atol=0.05, rtol=0)
    assert log_p.grad is not None
    assert log_p.grad.abs().max() < 0.01  # nothing is left to be surprised by


def test_the_squared_error_of_the_value_head_by_hand() -> None:
    reinforce = made("learned")
    assert reinforce.value is not None
    with torch.no_grad():
        reinforce.value.weight.copy_(torch.tensor([[1.0, 2.0]]))
        reinforce.value.bias.fill_(0.5)
    # v = 1 + 2·2 + 0.5 = 5.5; −(7 − 5.5)·(−2) + 1.5² = 5.25
    loss = reinforce(
        torch.tensor([-2.0], dtype=f64), torch.tensor([7.0], dtype=f64), torch.tensor([[1.0, 2.0]]).double()
    )
    assert_close(loss, torch.tensor([5.25], dtype=f64))
    loss.sum().backward()
    assert_close(reinforce.value.bias.grad, torch.tensor([-3.0], dtype=f64))  # 2·(5.5 − 7), and nothing from log p


def test_choices_are_joined() -> None:
    chosen = torch.ones(2, 3, dtype=torch.bool)
    heads = Selection("heads", chosen, torch.tensor([-1.0, -2.0]), torch.tensor([0.1, 0.2]))
    dependents = Selection("dependents", chosen, torch.tensor([-0.5, -0.25]), torch.tensor([0.3, 0.4]))
    reinforce, R = Reinforce(size=None, baseline="none", bonus=2.0), torch.tensor([3.0, -1.0])
    # −(3·(−1.5) + 2·0.4), −(−1·(−2.25) + 2·0.6)
    assert_close(reinforce((heads, dependents), R), torch.tensor([3.7, -3.45]))
    same = reinforce(torch.tensor([-1.5, -2.25]), R, entropy=torch.tensor([0.4, 0.6]))
    assert_close(reinforce((heads, dependents), R), same)


def test_normalised_the_scale_of_the_reward_does_not_matter() -> None:
    rewards = torch.randn(50, 20, dtype=f64)
    losses = []
    for size in (1.0, 1000.0):
        reinforce = made("moving", normalise=True)
        losses.append(torch.stack([reinforce(torch.ones(20, dtype=f64), size * R + size) for R in rewards])[1:])
    assert_close(losses[0], losses[1])
    assert 0.8 < losses[0].std() < 1.2
    # Rewards that hardly differ are not blown up.
    reinforce = made("moving", normalise=True)
    loss = torch.stack([reinforce(torch.ones(20, dtype=f64), 1e-6 * R) for R in rewards])
    assert loss.abs().max() < 1e-3


def test_mixing_samples_with_expected_values() -> None:
    sampled, expected = torch.full((4000, 2, 3), 1.0), torch.full((4000, 2, 3), 2.0, requires_grad=True)
    mixed, kept = mix(sampled, expected, 0.25, torch.Generator().manual_seed(5))
    assert torch.equal(mixed, torch.where(kept[:, None, None], sampled, expected))
    assert abs(kept.float().mean().item() - 0.75) < 4 * (0.75 * 0.25 / 4000) ** 0.5
    assert torch.equal(kept, mix(sampled, expected, 0.25, torch.Generator().manual_seed(5))[1])
    mixed.sum().backward()
    assert expected.grad is not None
    assert torch.equal(expected.grad[:, 0, 0] == 0, kept)
    # The next step of the same sentences.
    later, same = mix(sampled[:, 0], expected[:, 0], 0.25, kept=kept)
    assert same is kept
    assert torch.equal(later == 1, kept[:, None].expand(4000, 3))


def test_the_module_mixes_in_training_only() -> None:
    reinforce, sampled, expected = Reinforce(size=None, expected=1.0), torch.zeros(5, 2), torch.ones(5, 2)
    mixed, kept = reinforce.mix(sampled, expected)
    assert torch.equal(mixed, expected)
    assert not kept.any()
    state = torch.get_rng_state()
    mixed, kept = reinforce.eval().mix(sampled, expected)
    assert torch.equal(mixed, sampled)
    assert kept.all()
    assert torch.equal(torch.get_rng_state(), state)


def test_soft_weights_give_way_on_the_way() -> None:
    """By hand: from 1 to ¼ in the first half, 1 − ¾ · 0.2 / 0.5 = 0.7 after a fifth."""
    reinforce = Reinforce(size=None, expected=0.25, anneal=0.5)
    assert [reinforce.chance(p) for p in (0.0, 0.2, 0.5, 1.0)] == pytest.approx([1.0, 0.7, 0.25, 0.25])
    assert Reinforce(size=None, expected=0.25).chance(0.0) == 0.25
    sampled, expected = torch.zeros(5, 2), torch.ones(5, 2)
    assert torch.equal(reinforce.mix(sampled, expected, progress=0.0)[0], expected)


@pytest.mark.parametrize("baseline", baselines[:3])
def test_an_example_that_took_the_expected_value_does_not_count(baseline: Any) -> None:
    def run(keep: list[int]) -> tuple[Tensor, Tensor, Tensor, Reinforce]:
        torch.manual_seed(2)
        reinforce = made(baseline, bonus=0.5)
        log_p = torch.randn(4, 3, dtype=f64)[keep].requires_grad_()
        H = torch.rand(4, 3, dtype=f64)[keep].requires_grad_()
        R, s = torch.randn(4, dtype=f64)[keep], torch.randn(4, 2, dtype=f64)[keep]
        kept = torch.tensor([True, False, True, True])[keep]
        reinforce(log_p, R, s, entropy=H, kept=kept).sum().backward()
        assert log_p.grad is not None
        assert H.grad is not None
        return log_p.grad, H.grad, kept, reinforce

    all_four, entropies, kept, reinforce = run([0, 1, 2, 3])
    three, _, _, without = run([0, 2, 3])
    assert (all_four[~kept] == 0).all()
    assert (entropies == -0.5).all()  # its distribution is still to stay open
    assert_close(all_four[kept], three)
    assert_close(reinforce.average, without.average)
    for one, other in zip(reinforce.parameters(), without.parameters(), strict=True):
        assert_close(one.grad, other.grad)


def test_a_batch_without_a_sample_leaves_the_average() -> None:
    reinforce = made("moving")
    none = torch.zeros(2, dtype=torch.bool)
    reinforce(torch.ones(2, dtype=f64), torch.ones(2, dtype=f64), kept=none)
    assert not reinforce.started
    reinforce(torch.ones(2, dtype=f64), torch.full((2,), 4.0, dtype=f64))
    loss = reinforce(torch.ones(2, dtype=f64), torch.ones(2, dtype=f64), kept=none)
    assert_close(loss, torch.zeros(2, dtype=f64))
    assert_close(reinforce.average, torch.tensor(4.0, dtype=f64))


def test_narrow_numbers_are_widened() -> None:
    """65,000 in bfloat16 steps by 256: the loss is worked out in float32, the value head too."""
    assert surrogate(torch.ones(2, dtype=torch.bfloat16), torch.ones(2, dtype=torch.float16)).dtype == torch.float32
    reinforce = Reinforce(size=3, baseline="learned")
    summary = torch.randn(4, 3)
    plain = reinforce(torch.randn(4), torch.zeros(4), summary)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.manual_seed(7)
        log_p = torch.randn(4)
        cast = reinforce(log_p, torch.zeros(4), summary)
    assert plain.dtype == cast.dtype == torch.float32
    assert_close(cast, reinforce(log_p, torch.zeros(4), summary))


def test_what_cannot_be_used_is_said() -> None:
    log_p, R = torch.zeros(2), torch.zeros(2)
    with pytest.raises(RegardError, match="decay: got 1"):
        Reinforce(size=None, decay=1.0)
    with pytest.raises(RegardError, match="expected: got 2"):
        Reinforce(size=None, expected=2.0)
    with pytest.raises(RegardError, match="pass size="):
        Reinforce(size=None, baseline="learned")
    with pytest.raises(RegardError, match="no summary"):
        Reinforce(size=3, baseline="learned")(log_p, R)
    with pytest.raises(RegardError, match="without an entropy"):
        Reinforce(size=None, bonus=0.1)(log_p, R)
    with pytest.raises(RegardError, match="samples=1"):
        Reinforce(size=None, baseline="others", samples=1)
    for copies in (1, 3):
        with pytest.raises(RegardError, match=rf"2 rewards of {copies} draws"):
            Reinforce(size=None, baseline="others")(log_p, R, copies=copies)
    with pytest.raises(RegardError, match="no choices"):
        Reinforce(size=None)((), R)


def test_its_options_are_a_configuration() -> None:
    options = find.full(Reinforce, {"baseline": "learned", "bonus": 1})
    assert list(options) == [
        "baseline",
        "decay",
        "scale",
        "bonus",
        "expected",
        "anneal",
        "normalise",
        "samples",
    ]  # `size` is for code to give
    assert options["bonus"] == 1.0
    assert find.call(Reinforce, {"baseline": "none"}, size=4).baseline == "none"


def test_a_selector_learns_what_is_worth_its_price() -> None:
    """A token is marked; choosing it earns 1, and every token costs. The policy ends with the marked one alone."""
    selector, reinforce = Selector(inputs=4, hidden=8), Reinforce(size=None, bonus=0.01)
    optimiser = torch.optim.Adam(selector.parameters(), lr=0.02)

    def sentences() -> tuple[Tensor, Tensor, Tensor]:
        length = torch.randint(1, 7, (64, 1))
        place = torch.arange(6)[None, :]
        mask, marked = place < length, place == (torch.rand(64, 1) * length).long()
        x = torch.randn(64, 6, 4)
        x[..., 0] = marked.float() * 2 - 1
        return x, mask, marked

    for _ in range(200):
        x, mask, marked = sentences()
        (choice,) = selector(x, mask, sample=True)
        right = (choice.chosen & marked).any(1).float()
        loss = reinforce([choice], right - 0.5 * share(choice.chosen, mask)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    x, mask, marked = sentences()
    wrong = selector(x, mask, sample=False)[0].chosen ^ marked
    assert wrong.sum() / mask.sum() < 0.02


@pytest.mark.parametrize(("baseline", "finds"), [("others", True), ("moving", False)])
def test_a_selector_tells_tokens_apart_in_sentences_that_differ(baseline: Any, finds: bool) -> None:
    """Marked tokens are worth 0.1, all cost 0.04, and sentences lie 5 apart, whatever was chosen in them."""
    torch.manual_seed(0)
    selector, reinforce = Selector(inputs=4, hidden=8), Reinforce(size=None, baseline=baseline, bonus=0.003)
    optimiser, copies = torch.optim.Adam(selector.parameters(), lr=0.02), reinforce.copies
    for _ in range(200):  # 64 draws at a step, by either
        marked, level = torch.rand(64 // copies, 6) < 0.5, 5 * torch.randn(64 // copies).repeat(copies)
        x = torch.randn(64 // copies, 6, 4)
        x[..., 0] = marked.float() * 2 - 1
        x, marked = x.repeat(copies, 1, 1), marked.repeat(copies, 1)
        (choice,) = selector(x, torch.ones_like(marked), sample=True)
        R = level + (choice.chosen * (0.1 * marked - 0.04)).sum(1)
        optimiser.zero_grad()
        reinforce([choice], R, copies=copies).mean().backward()
        optimiser.step()
    wrong = selector(x, torch.ones_like(marked), sample=False)[0].chosen ^ marked
    assert (wrong.float().mean().item() < 0.02) is finds
