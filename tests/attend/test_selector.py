"""Selector: which tokens are chosen, how likely that was, and that padding and x are left alone."""

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attend.bernoulli import log_prob_and_entropy, share
from regard.attend.selector import Selector
from regard.types import Selection

f64 = torch.float64


def made(inputs: int = 3, **options: float) -> Selector:
    """In float64, and with an opinion: w is not small."""
    selector = Selector(inputs, **options).double()  # type: ignore[arg-type]
    with torch.no_grad():
        selector.w.mul_(20)
    return selector


def one(selector: Selector, *given: object, **more: object) -> Selection:
    """The choice of its only policy."""
    (choice,) = selector(*given, **more)
    return choice  # type: ignore[no-any-return]


def batch() -> tuple[Tensor, Tensor]:
    """Sentences of 4, 2, 1 and 0 tokens."""
    return torch.randn(4, 4, 3, dtype=f64), torch.arange(4)[None, :] < torch.tensor([[4], [2], [1], [0]])


def test_numbers_worked_by_hand() -> None:
    selector = Selector(inputs=1, hidden=2).double()
    with torch.no_grad():
        selector.W.copy_(torch.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 1.0]]).T)
        selector.b.copy_(torch.tensor([0.0, -1.0]))
        selector.w.copy_(torch.tensor([[1.0], [3.0]]))
        selector.start.fill_(0.25)
    x, mask = torch.tensor([[[1.0], [3.0], [100.0]]], dtype=f64), torch.tensor([[True, True, False]])
    # pool = 2. Token 1: f = (1, 2, 2), W f + b = (3, 1.5), logit 3 + 4.5 + 0.25. Token 2: f = (3, 2, 6),
    # W f + b = (1, 6.5), logit 1 + 19.5 + 0.25.
    logits = selector.logits(x, mask)[0, :, :2]
    assert_close(logits, torch.tensor([[7.75, 20.75]], dtype=f64))
    # Negative inside: x = −1 alone, f = (−1, −1, 1): (−4, −0.5), elu = e^−4 − 1, e^−½ − 1.
    (alone,) = selector.logits(torch.tensor([[[-1.0]]], dtype=f64), torch.tensor([[True]]))
    assert_close(alone, torch.tensor([[math.exp(-4) - 1 + 3 * (math.exp(-0.5) - 1) + 0.25]], dtype=f64))


def test_how_likely_and_how_open_by_hand() -> None:
    # p = 0.8 chosen, 0.25 not, and one that is not there.
    logits = torch.tensor([[math.log(4), -math.log(3), 5.0]], dtype=f64)
    there, chosen = torch.tensor([[True, True, False]]), torch.tensor([[True, False, False]])
    log_p, H = log_prob_and_entropy(logits, chosen, there)
    assert_close(log_p, torch.tensor([math.log(0.8 * 0.75)], dtype=f64))
    by_hand = -(0.8 * math.log(0.8) + 0.2 * math.log(0.2) + 0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert_close(H, torch.tensor([by_hand], dtype=f64))


def test_all_choices_by_enumeration() -> None:
    """The probabilities of all subsets add up to 1, their mean −log is the entropy, each token's share is its p."""
    z = torch.tensor(list(itertools.product([False, True], repeat=4)))
    logits = torch.randn(1, 4, dtype=f64).expand(16, 4)
    log_p, H = log_prob_and_entropy(logits, z, torch.ones_like(z))
    p = log_p.exp()
    assert_close(p.sum(), torch.tensor(1.0, dtype=f64))
    assert_close(-(p * log_p).sum(), H[0])
    assert_close(p @ z.double(), torch.sigmoid(logits[0]))


def test_before_training_the_most_likely_choice_is_everything() -> None:
    """p ≈ σ(1) = 0.731 for each token, so sampling leaves about a quarter out."""
    selector = Selector(inputs=50)
    x, mask = torch.randn(200, 20, 50), torch.ones(200, 20, dtype=torch.bool)
    (p,) = selector.probabilities(x, mask)
    assert (p - 1 / (1 + math.exp(-1))).abs().max() < 0.1
    assert one(selector, x, mask, sample=False).chosen.all()
    assert 0.7 < one(selector, x, mask, sample=True).chosen.float().mean() < 0.76
    assert not one(Selector(inputs=50, start=-1.0), x, mask, sample=False).chosen.any()


def test_frequencies_are_the_probabilities() -> None:
    selector, draws = made(), 20_000
    x, mask = batch()
    (p,) = selector.probabilities(x, mask)
    assert p.detach().std() > 0.1
    many = torch.stack([one(selector, x, mask, True).chosen for _ in range(20)])
    assert many[:, ~mask].sum() == 0
    row = one(selector, x[:1].expand(draws, 4, 3), mask[:1].expand(draws, 4), True)
    error = (p[0] * (1 - p[0]) / draws).sqrt()
    assert ((row.chosen.double().mean(0) - p[0]).abs() <= 4 * error).all()
    # Each draw carries its own log-probability.
    product = torch.where(row.chosen, p[0], 1 - p[0]).prod(-1)
    assert_close(row.log_prob.exp(), product)


def test_the_most_likely_choice() -> None:
    selector, (x, mask) = made(start=0.0), batch()
    choice = one(selector, x, mask, sample=False)
    assert choice.name == "tokens"
    assert torch.equal(choice.chosen, (selector.probabilities(x, mask)[0] >= 0.5) & mask)
    assert 0 < choice.chosen.sum() < mask.sum()
    again = one(selector, x, mask, sample=False)
    assert torch.equal(again.chosen, choice.chosen)
    assert_close(again.log_prob, choice.log_prob)


def test_policies_side_by_side_choose_as_each_alone() -> None:
    """Draws one after the other, log-probabilities, entropies and gradients are those of each by itself."""
    pair, (x, mask) = (made(), made(start=-0.5)), batch()
    both = Selector(3, names=("a", "b")).double()
    with torch.no_grad():
        for name, parameter in both.named_parameters():
            parameter.copy_(torch.cat([alone.get_parameter(name) for alone in pair]))
    for sample in (True, False):
        torch.manual_seed(5)
        alone = [one(selector, x, mask, sample) for selector in pair]
        torch.manual_seed(5)
        together = both(x, mask, sample)
        assert [choice.name for choice in together] == ["a", "b"]
        for place, (mine, theirs, selector) in enumerate(zip(together, alone, pair, strict=True)):
            assert torch.equal(mine.chosen, theirs.chosen)
            assert_close(mine.log_prob, theirs.log_prob)
            assert_close(mine.entropy, theirs.entropy)
            slopes = [
                torch.autograd.grad((choice.log_prob + 2 * choice.entropy).sum(), of.parameters(), retain_graph=True)
                for choice, of in ((mine, both), (theirs, selector))
            ]
            for whole, part in zip(*slopes, strict=True):
                assert_close(whole[place], part[0])
                assert (whole[1 - place] == 0).all()


@pytest.mark.parametrize("filling", [0.0, 1e6, float("nan"), float("inf")])
def test_padding_never_matters(filling: float) -> None:
    """Alone and in a batch the same, whatever stands in the padding; its gradients too."""
    selector, (x, mask) = made(), batch()
    x = x.masked_fill(~mask.unsqueeze(-1), filling)
    together = one(selector, x, mask, sample=False)
    assert not together.chosen[~mask].any()
    (together.log_prob + together.entropy).sum().backward()
    gradients = [parameter.grad for parameter in selector.parameters()]
    selector.zero_grad()
    for i, n in enumerate([4, 2, 1]):
        alone = one(selector, x[i : i + 1, :n], mask[i : i + 1, :n], sample=False)
        assert torch.equal(alone.chosen[0], together.chosen[i, :n])
        assert_close(alone.log_prob[0], together.log_prob[i])
        assert_close(alone.entropy[0], together.entropy[i])
        p = selector.probabilities(x[i : i + 1, :n], mask[i : i + 1, :n])[0, 0]
        assert_close(selector.probabilities(x, mask)[0, i], torch.cat([p, p.new_zeros(4 - n)]))
        (alone.log_prob + alone.entropy).sum().backward()
    for parameter, gradient in zip(selector.parameters(), gradients, strict=True):
        assert_close(parameter.grad, gradient)


def test_a_sentence_without_tokens_says_nothing() -> None:
    selector, (x, mask) = made(), batch()
    for empty, there in ((x[3:], mask[3:]), (x[:, :0], mask[:, :0])):
        choice = one(selector, empty, there, sample=True)
        assert not choice.chosen.any()
        assert (choice.log_prob == 0).all()
        assert (choice.entropy == 0).all()
        assert (share(choice.chosen, there) == 0).all()
        selector.zero_grad()
        (choice.log_prob + choice.entropy).sum().backward()
        for parameter in selector.parameters():
            assert parameter.grad is not None
            assert (parameter.grad == 0).all()


def test_no_gradient_reaches_what_is_read() -> None:
    selector, (x, mask) = made(), batch()
    x.requires_grad_()
    choice = one(selector, x, mask, sample=True)
    (choice.log_prob + choice.entropy + selector.probabilities(x, mask).sum()).sum().backward()
    assert x.grad is None
    assert selector.W.grad is not None


def test_gradients_against_finite_differences() -> None:
    mask = torch.tensor([[True, True, True, False]])
    chosen = torch.tensor([[True, False, True, False]])
    logits = torch.randn(1, 4, dtype=f64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda one: log_prob_and_entropy(one, chosen, mask), (logits,))
    selector, x = made(), torch.randn(1, 4, 3, dtype=f64)

    names = [f"of.{name}" for name, _ in selector.named_parameters()]

    def policy(*values: Tensor) -> tuple[Tensor, Tensor]:
        given = dict(zip(names, values, strict=True))
        return log_prob_and_entropy(torch.func.functional_call(Logits(selector), given, (x, mask)), chosen, mask)

    assert torch.autograd.gradcheck(policy, tuple(p.detach().clone().requires_grad_() for p in selector.parameters()))


class Logits(torch.nn.Module):
    """The logits as a module's answer."""

    def __init__(self, of: Selector) -> None:
        super().__init__()
        self.of = of

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.of.logits(x, mask)[0]


def test_a_sure_policy_stays_finite() -> None:
    """log p of what could hardly be chosen is −|logit|, not −∞, and it still pulls."""
    logits = torch.tensor([[1e4, -1e4, 90.0, -90.0]], requires_grad=True)
    chosen = torch.tensor([[False, True, True, False]])
    log_p, H = log_prob_and_entropy(logits, chosen, torch.ones_like(chosen))
    assert_close(log_p, torch.tensor([-2e4]))
    assert H.item() == pytest.approx(0.0, abs=1e-30)
    (log_p + H).sum().backward()
    assert_close(logits.grad, torch.tensor([[-1.0, 1.0, 0.0, 0.0]]))


def test_under_autocast_the_policy_is_float32() -> None:
    selector, x = Selector(inputs=8), torch.randn(3, 5, 8)
    mask = torch.ones(3, 5, dtype=torch.bool)
    plain = one(selector, x, mask, sample=False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = one(selector, x, mask, sample=False)
        narrow = one(selector, x.bfloat16(), mask, sample=True)
    assert torch.equal(cast.log_prob, plain.log_prob)
    assert torch.equal(cast.entropy, plain.entropy)
    assert narrow.log_prob.dtype == torch.float32
    # A whole model in bfloat16 works too, and judges in float32.
    assert one(selector.bfloat16(), x.bfloat16(), mask, sample=True).log_prob.dtype == torch.float32


def test_the_share_of_what_was_chosen() -> None:
    chosen = torch.tensor([[True, False, True, False], [True, False, False, False], [False, False, False, False]])
    mask = torch.arange(4)[None, :] < torch.tensor([[4], [1], [0]])
    assert_close(share(chosen, mask), torch.tensor([0.5, 1.0, 0.0]))


def test_its_weights_are_saved_and_read() -> None:
    selector, other, (x, mask) = made(), made(start=-2.0), batch()
    other.load_state_dict(selector.state_dict())
    assert torch.equal(other.probabilities(x, mask), selector.probabilities(x, mask))
    assert sum(p.numel() for p in Selector(inputs=300).parameters()) == 900 * 300 + 300 + 300 + 1
