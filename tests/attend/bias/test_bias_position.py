"""Position: its three logarithms inside the score, step by step and all at once; and how steps are counted."""

from functools import partial
from math import exp, log, sqrt, tanh

import pytest
import torch
from bias_cases import (
    LENGTHS,
    all_at_once_is_one_by_one,
    attention_of,
    every_score,
    gradients_are_right,
    it_runs_in_short_numbers,
    it_speaks,
    memory_of,
    one_by_one,
    queries_of,
    stirred,
    translated,
)
from torch.testing import assert_close

from regard import find
from regard.attend.attention import Attention, make
from regard.attend.bias import Counting
from regard.attend.bias.position import Position
from regard.attend.score.additive import Additive
from regard.errors import RegardError
from regard.kernels.choose import choose
from regard.types import Look
from tiers import sweep_but

one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])


def test_a_number_by_hand() -> None:
    """Hidden 1, a score of 2 tanh(0 + 0), W = (1, 0.5, −1): step 1, two keys."""
    attention = Attention(Additive(1, 1, 1), bias=[Position(1)])
    with torch.no_grad():
        for p in attention.parameters():
            p.zero_()
        attention.score.w.fill_(2.0)
        attention.bias[0].W.copy_(torch.tensor([[1.0, 0.5, -1.0]]))
    memory = attention.prepare(torch.zeros(1, 2, 1), torch.tensor([[[0.0], [1.0]]]))
    second = one_by_one(attention, torch.zeros(1, 2, 1), memory)[1]
    # ψ = (log 2, 0, log 3) and (log 2, log 2, log 3): scores 2 tanh(−0.405465) and 2 tanh(−0.058892).
    first, other = 2 * tanh(log(2) - log(3)), 2 * tanh(1.5 * log(2) - log(3))
    assert second.context.item() == pytest.approx(exp(other) / (exp(first) + exp(other)), abs=1e-6)
    assert second.context.item() == pytest.approx(0.657367, abs=1e-6)


@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_five_steps_are_the_equation(score: str) -> None:
    attention = attention_of("position", score=score)
    queries, (memory, (keys, values)) = queries_of(), memory_of(attention)
    W = attention.bias[0].W
    looks = one_by_one(attention, queries, memory)
    for b, length in enumerate(LENGTHS):
        for j, look in enumerate(looks):
            scores = []
            for i in range(length):
                q, k = queries[b, j], keys[b, i]
                if score == "additive":
                    psi = torch.tensor([log(1 + j), log(1 + i), log(1 + length)]).double()
                    part = attention.score
                    scores.append(part.w @ torch.tanh(part.W_q(q) + part.W_k(k) + W @ psi))
                else:
                    key = k + W[:, 1] * log(1 + i) + W[:, 2] * log(1 + length)
                    scores.append((q + W[:, 0] * log(1 + j)) @ key / sqrt(len(k)))
            weights = torch.stack(scores).softmax(0)
            assert_close(look.weights[b, 0, :length], weights)
            assert_close(look.context[b, 0], weights @ values[b, :length])


@pytest.mark.thin
@one_or_many_heads
@pytest.mark.parametrize("score", sweep_but(every_score, "additive", "dot"))
def test_it_speaks_under_any_score(score: str, heads: int | None) -> None:
    it_speaks("position", score=score, heads=heads)


@pytest.mark.thin
@one_or_many_heads
@pytest.mark.parametrize(
    ("score", "normalizer"),
    [
        *((score, "softmax") for score in every_score),
        *(("additive", normalizer) for normalizer in ("sparsemax", "argmax")),
    ],
)
def test_all_biases_together(score: str, normalizer: str, heads: int | None) -> None:
    it_speaks(*find.names("attend.bias"), score=score, heads=heads, normalizer=normalizer)


@one_or_many_heads
@pytest.mark.parametrize(("score", "path"), [("additive", "additive"), ("scaled_dot", "sdpa")])
def test_fused_kernels_serve_all_that_count(score: str, path: str, heads: int | None) -> None:
    """Many steps at once: the answer and the gradients of float64, from a kernel that never makes the weights."""
    bias = ("position", "relative_position", {"name": "window", "kind": "monotone"}, "causal", "window")
    make_one = partial(make, 32, 32, 32, score=score, bias=bias, heads=heads)
    exact, short = stirred(make_one().double()), make_one()
    short.load_state_dict(exact.state_dict())
    x, mask = torch.randn(2, 96, 32), torch.arange(96) < torch.tensor([96, 70])[:, None]
    found = []
    for attention in (exact, short):
        y = x.to(next(attention.parameters()).dtype).requires_grad_()
        memory = attention.prepare(y, mask=mask)
        look = attention(y, memory, attention.start(memory))
        found.append([look.context, *torch.autograd.grad(look.context.square().sum(), [y, *attention.parameters()])])
    hidden = short.score.hidden
    q, keys = torch.empty(2, *((heads,) if heads else ()), 96, hidden), memory.keys
    assert choose(short.score.kernel, "softmax", q, keys).path == path
    for one, other in zip(*found, strict=True):
        assert_close(other.double(), one, atol=1e-5 + 2e-4 * one.abs().max().item(), rtol=1e-3)


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot", "feature_wise"])
def test_all_at_once_is_one_by_one(score: str, heads: int | None) -> None:
    all_at_once_is_one_by_one(attention_of("position", score=score, heads=heads))


def test_biases_that_count_are_asked_together_all_at_once() -> None:
    monotone = {"name": "window", "kind": "monotone", "D": 1}
    all_at_once_is_one_by_one(attention_of("position", "relative_position", monotone, "causal", "window"))


@one_or_many_heads
def test_gradients(heads: int | None) -> None:
    gradients_are_right(attention_of("position", score="bilinear", heads=heads))


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_short_numbers(score: str, heads: int | None) -> None:
    it_runs_in_short_numbers("position", score=score, heads=heads)


@pytest.mark.sweep
@pytest.mark.parametrize("place", sweep_but(["before", "after"], "after"))
def test_it_translates(place: str) -> None:
    translated("position", place=place)


def test_it_begins_as_nothing() -> None:
    assert not Position(hidden=4).W.any()


# How steps are counted, for this bias and all that count


class Step(Counting):
    """Only counts."""


def test_steps_of_one_hypothesis_and_of_many() -> None:
    part, memory = Step(), memory_of(attention_of())[0]
    one = part.start(memory, 1)
    assert part.steps(one, 1).tolist() == [[0]] * 3
    assert part.steps(one, 4).tolist() == [[0, 1, 2, 3]] * 3
    after = part.advance(one, 4)
    assert part.steps(after, 2).tolist() == [[4, 5]] * 3
    many = part.start(memory, 2)
    assert part.steps(part.advance(many, 2), 2).tolist() == [[1, 1]] * 3
    with pytest.raises(RegardError, match="3 queries of 2 hypotheses; expected as many, or one"):
        part.steps(many, 3)


def test_hypotheses_may_stand_at_different_steps() -> None:
    """Each goes by its own count, whichever row it came from."""
    attention = attention_of("position")
    queries, (memory, _) = queries_of(2), memory_of(attention)
    apart = torch.tensor([[0, 3], [2, 2], [7, 1]])
    look = attention(queries, memory, (None, apart))
    for n in range(2):
        alone = attention(queries[:, n : n + 1], memory, (None, apart[:, n : n + 1]))
        assert_close(alone.context, look.context[:, n : n + 1])
        assert torch.equal(alone.state[1], apart[:, n : n + 1] + 1)


def test_counting_works_out_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that only counts needs none; one that is made of weights does."""
    asked = []
    plain = Look.by_key.fget
    monkeypatch.setattr(Look, "by_key", property(lambda look: asked.append(1) or plain(look)))
    for bias, waits in (("position", False), ("markov", True)):
        attention = attention_of(bias, score="scaled_dot").float()
        memory = attention.prepare(torch.randn(2, 3, 4), torch.randn(2, 3, 6))
        asked.clear()
        look = attention(torch.randn(2, 1, 4), memory)
        assert (attention.stateful, attention.waits, bool(asked)) == (True, waits, waits)
        assert look.state is not None
    assert not attention_of().waits
    assert attention_of().start(memory) is None
