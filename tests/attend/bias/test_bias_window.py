"""Window: only keys near a place, the step's own or one foretold from the query."""

from math import exp

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
    queries_of,
    translated,
)
from torch.testing import assert_close

from regard.attend.attention import Attention, make
from regard.attend.bias.window import Window
from regard.attend.score.dot import Dot
from regard.errors import RegardError
from regard.types import Memory
from tiers import sweep_but

one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])
monotone = {"name": "window", "kind": "monotone", "D": 1}
predictive = {"name": "window", "D": 2}
either_kind = pytest.mark.parametrize("bias", [monotone, predictive], ids=["monotone", "predictive"])


def test_a_foretold_place_by_hand() -> None:
    """v = 0, so that p = 4 · ½ = 2; D = 2, σ = 1; all scores 0: weights ∝ exp(−2), exp(−½), 1, exp(−½)."""
    attention = Attention(Dot(1, 1), bias=[Window(query=1, hidden=2, D=2)])
    attention.bias[0].v.data.zero_()
    memory = attention.prepare(torch.zeros(1, 4, 1), torch.arange(4.0).reshape(1, 4, 1))
    look = attention(torch.ones(1, 1, 1), memory)
    raw = [exp(-2), exp(-0.5), 1, exp(-0.5)]
    assert look.weights.flatten().tolist() == pytest.approx([w / sum(raw) for w in raw], abs=1e-6)
    assert look.context.item() == pytest.approx(1.884742, abs=1e-6)
    # Wider sources: p = 5 of 10, and keys further than 2 are not looked at.
    memory = attention.prepare(torch.zeros(1, 10, 1))
    assert attention(torch.ones(1, 1, 1), memory).weights[0, 0].nonzero().flatten().tolist() == [3, 4, 5, 6, 7]


def test_monotone_by_hand() -> None:
    """D = 1 over four keys, all scores 0: the window walks with the steps and waits at the last key."""
    attention = Attention(Dot(1, 1), bias=[Window(query=1, hidden=2, kind="monotone", D=1)])
    memory = attention.prepare(torch.zeros(1, 4, 1))
    weights = attention(torch.zeros(1, 6, 1), memory, attention.start(memory)).weights[0]
    third, half = 1 / 3, 0.5
    expected = [[half, half, 0, 0], [third] * 3 + [0], [0] + [third] * 3] + [[0, 0, half, half]] * 3
    assert_close(weights, torch.tensor(expected))
    assert not list(attention.bias.parameters())


@one_or_many_heads
def test_foretold_windows_are_the_equation(heads: int | None) -> None:
    """The plain weights times the Gaussian, normalised again; one place for all heads."""
    attention = attention_of(predictive, score="scaled_dot", heads=heads)
    plain = Attention(attention.score, heads=attention.heads)
    queries, (memory, _) = queries_of(), memory_of(attention)
    look, bare = attention(queries, memory), plain(queries, memory).weights
    W, v = attention.bias[0].W.weight.detach(), attention.bias[0].v.detach()
    for b, length in enumerate(LENGTHS):
        for j in range(5):
            p = length / (1 + exp(-float(v @ torch.tanh(W @ queries[b, j]))))
            factor = torch.tensor([exp(-((i - p) ** 2) / 2) if abs(i - p) <= 2 else 0.0 for i in range(6)]).double()
            lifted = bare[b, ..., j, :] * factor
            assert_close(look.weights[b, ..., j, :], lifted / lifted.sum(-1, keepdim=True))
    assert look.state is None  # the place is the query's own


@one_or_many_heads
@either_kind
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_all_at_once_is_one_by_one(bias: dict[str, object], score: str, heads: int | None) -> None:
    all_at_once_is_one_by_one(attention_of(bias, score=score, heads=heads))


@pytest.mark.thin
@one_or_many_heads
@either_kind
@pytest.mark.parametrize("score", sweep_but(every_score, "additive", "dot"))
def test_it_speaks_under_any_score(bias: dict[str, object], score: str, heads: int | None) -> None:
    it_speaks(bias, score=score, heads=heads)


@one_or_many_heads
@pytest.mark.parametrize("score", ["bilinear", "additive"])
def test_gradients(score: str, heads: int | None) -> None:
    gradients_are_right(attention_of(predictive, score=score, heads=heads))


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
@either_kind
def test_short_numbers(bias: dict[str, object], score: str, heads: int | None) -> None:
    it_runs_in_short_numbers(bias, score=score, heads=heads)


@either_kind
@pytest.mark.parametrize("place", sweep_but(["before", "after"], "after"))
def test_it_translates(bias: dict[str, object], place: str) -> None:
    translated(bias, place=place)


@pytest.mark.sweep
def test_it_translates_under_heads() -> None:
    translated(predictive, heads=2)


def test_there_is_always_a_key_in_the_window() -> None:
    """Wherever the foretold place falls, from 0 to the length, and in numbers that cannot count that far."""
    part = Window(query=1, hidden=1, D=1).bfloat16()
    part.W.weight.data.fill_(1.0)
    keys = torch.zeros(1, 700, 1, dtype=torch.bfloat16)
    part.v.data.fill_(50.0)
    query = torch.linspace(-2, 2, 101).reshape(1, 101, 1).bfloat16()
    seen = part.terms(Memory(keys, keys), 101, None, query).mask
    counts = seen.sum(-1)
    assert counts.min() >= 1
    assert counts.max() <= 3


def test_a_learned_query_has_no_place_to_foretell() -> None:
    keys = torch.randn(1, 3, 4)
    attention = make(4, 4, 4, score="learned_query", bias=("window",))
    memory = attention.prepare(keys)
    with pytest.raises(RegardError, match="a predictive window needs a query"):
        attention(None, memory)
    attention = make(4, 4, 4, score="learned_query", bias=(monotone,))
    assert attention(None, attention.prepare(keys)).weights[0, 0, 2] == 0


def test_options() -> None:
    assert Window(query=5, hidden=3).W.weight.shape == (3, 5)
    with pytest.raises(RegardError, match="D: got 0; expected a whole number from 1 to"):
        Window(query=1, hidden=1, D=0)
    with pytest.raises(RegardError, match="kind: got 'local'; expected one of predictive, monotone"):
        make(4, 4, 4, bias=({"name": "window", "kind": "local"},))
