"""Mixture: the exact marginal likelihood, by enumeration of all positions; the heaviest alone where fewer are asked."""

import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from regard.attend.attention import make
from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.predict.generate.recurrent import Recurrent
from regard.predict.mixture import mixed
from regard.types import Memory

f64 = torch.float64


def made(mixture: int, normalizer: str = "softmax", **options: object) -> Recurrent:
    def attention(**sizes: int) -> object:
        return make(**sizes, score="dot", normalizer=normalizer)

    torch.manual_seed(1)
    sizes = {"embed": 3, "hidden": 4, "place": "after", "feed": False, "dropout": 0.0, **options}
    return Recurrent(5, 4, 6, attention, mixture=mixture, **sizes).double()  # type: ignore[arg-type]


def memory() -> Memory:
    mask = torch.tensor([[True, True, True], [True, True, False]])
    return Memory(torch.randn(2, 3, 4, dtype=f64), torch.randn(2, 3, 4, dtype=f64), mask, torch.randn(2, 6, dtype=f64))


tokens = torch.tensor([[1, 4, 0, 2], [1, 3, 3, 4]])


def test_by_hand() -> None:
    """Weights ¾ and ¼, and two positions that are sure of opposite words: p = (¾ · 0.9 + ¼ · 0.2, …)."""
    weights, values = torch.tensor([[[0.75, 0.25]]], dtype=f64), torch.tensor([[[0.9], [0.2]]], dtype=f64)

    def logits_of(v: Tensor) -> Tensor:
        return torch.cat([v, 1 - v], -1).log()

    found = mixed(weights, values, logits_of, top=2)
    assert_close(found.exp(), torch.tensor([[[0.725, 0.275]]], dtype=f64))
    alone = mixed(weights, values, logits_of, top=1)
    assert_close(alone.exp(), torch.tensor([[[0.9, 0.1]]], dtype=f64))


@pytest.mark.parametrize("gate", [False, True])
def test_it_is_the_sum_over_all_positions(gate: bool) -> None:
    """Each position alone, as the only one there is, says what it says; weighed by attention that is the answer."""
    part, given = made(3, gate=gate), memory()
    look, log_p = part.unroll(given, tokens)
    plain = made(0, gate=gate)
    plain.load_state_dict(part.state_dict())
    total = torch.zeros_like(log_p)
    for place in range(3):
        alone = Memory(given.keys, given.values, torch.arange(3).expand(2, 3) == place, given.summary)
        said = plain.unroll(alone, tokens)[1].softmax(-1)
        total = total + look.weights[..., place, None] * said
    assert_close(log_p.exp(), total)
    assert_close(log_p.exp().sum(-1), torch.ones(2, 4, dtype=f64))


def test_its_gradient_is_that_of_the_sum() -> None:
    part, given = made(3), memory()
    _, log_p = part.unroll(given, tokens)
    found = torch.autograd.grad(log_p[:, :, 2].sum(), list(part.parameters()), allow_unused=True)
    look, _ = part.unroll(given, tokens)
    plain = made(0)
    plain.load_state_dict(part.state_dict())
    weights = part.unroll(given, tokens)[0].weights
    said = [
        plain.unroll(Memory(given.keys, given.values, torch.arange(3).expand(2, 3) == i, given.summary), tokens)[1]
        for i in range(3)
    ]
    with torch.no_grad():
        posterior = torch.stack([weights[..., i] * said[i].softmax(-1)[..., 2] for i in range(3)], -1)
        posterior = posterior / posterior.sum(-1, keepdim=True)
    # ∂ log Σ_i a_i p_i = Σ_i posterior_i ∂(log a_i + log p_i)
    log_a = part.unroll(given, tokens)[0].weights.clamp(min=1e-30).log()
    of_prior = torch.autograd.grad((posterior * log_a).sum(), list(part.parameters()), allow_unused=True)
    of_words = torch.autograd.grad(
        sum((posterior[..., i] * said[i].log_softmax(-1)[..., 2]).sum() for i in range(3)),
        list(plain.parameters()),
        allow_unused=True,
    )
    for one, prior, words in zip(found, of_prior, of_words, strict=True):
        wanted = sum((other for other in (prior, words) if other is not None), torch.zeros(()))
        assert_close(torch.zeros(()) if one is None else one, wanted, check_dtype=False)
    assert look.weights.requires_grad


@pytest.mark.parametrize("mixture", [1, 2, 3, 8])
def test_steps_say_the_same_as_all_at_once(mixture: int) -> None:
    part, given = made(mixture).eval(), memory()
    look, log_p = part.unroll(given, tokens)
    again, stepped = Decoder.unroll(part, given, tokens)
    assert_close(log_p, stepped)
    assert_close(look.weights, again.weights)


def test_one_position_is_the_most_likely_alone() -> None:
    part, given = made(1).eval(), memory()
    hard = made(0, "argmax").eval()
    hard.load_state_dict(part.state_dict())
    assert_close(part.unroll(given, tokens)[1], hard.unroll(given, tokens)[1].log_softmax(-1))


def test_nothing_to_look_at_stays_finite() -> None:
    part, given = made(2), memory()
    empty = Memory(given.keys, given.values, torch.zeros(2, 3, dtype=torch.bool), given.summary)
    log_p = part.unroll(empty, tokens)[1]
    assert log_p.isfinite().all()
    slopes = torch.autograd.grad(log_p.sum(), list(part.parameters()), allow_unused=True)
    assert all(slope is None or slope.isfinite().all() for slope in slopes)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"place": "before"}, "place=before"),
        ({"feed": True}, "feed=true"),
        ({"normalizer": "sample"}, "picks one position"),
    ],
)
def test_what_a_sum_over_one_step_cannot_do_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        made(2, **options)  # type: ignore[arg-type]


def test_several_heads_are_refused() -> None:
    with pytest.raises(RegardError, match="several weights"):
        Recurrent(5, 4, 6, lambda **sizes: make(**sizes, score="dot", heads=2), place="after", feed=False, mixture=2)


def test_the_likelihood_of_two_positions_by_hand() -> None:
    log_p = mixed(torch.tensor([[[0.5, 0.5]]], dtype=f64), torch.zeros(1, 2, 1, dtype=f64),
                  lambda v: torch.cat([v, v], -1), 2)  # fmt: skip
    assert log_p.flatten().tolist() == pytest.approx([math.log(0.5)] * 2)
