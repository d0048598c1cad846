"""Fertility: a window of all earlier weights together, inside the score."""

import pytest
import torch
from bias_cases import (
    LENGTHS,
    attention_of,
    every_score,
    gradients_are_right,
    it_runs_in_short_numbers,
    it_speaks,
    memory_of,
    one_by_one,
    queries_of,
    translated,
)
from torch.testing import assert_close

from regard.attend.attention import Attention
from regard.attend.bias.fertility import Fertility
from regard.attend.score.additive import Additive
from regard.errors import RegardError

one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])


def test_three_steps_by_hand() -> None:
    """Hidden 1, a score of 2 tanh(0 + 0), and W that takes from a key what was looked at one place to its right."""
    attention = Attention(Additive(1, 1, 1), bias=[Fertility(1, k=1)])
    with torch.no_grad():
        for p in attention.parameters():
            p.zero_()
        attention.score.w.fill_(2.0)
        attention.bias[0].W[0, 2] = -1.0
    memory = attention.prepare(torch.zeros(1, 2, 1), torch.tensor([[[0.0], [1.0]]]))
    first, second, third = one_by_one(attention, torch.zeros(1, 3, 1), memory)
    # Weights (½, ½); then the first key has −½ inside: the second gets 1 / (1 + exp(−2 tanh ½)) = 0.715904; then the
    # first has −(½ + 0.715904) inside: 1 / (1 + exp(−2 tanh 1.215904)) = 0.842491.
    assert first.context.item() == pytest.approx(0.5)
    assert second.context.item() == pytest.approx(0.715904, abs=1e-6)
    assert third.context.item() == pytest.approx(0.842491, abs=1e-6)


@pytest.mark.parametrize("k", [0, 2])
def test_steps_are_the_equation(k: int) -> None:
    attention = attention_of({"name": "fertility", "k": k})
    queries, (memory, (keys, _)) = queries_of(4), memory_of(attention)
    W, score = attention.bias[0].W, attention.score
    looks = one_by_one(attention, queries, memory)
    for b, length in enumerate(LENGTHS):
        total = torch.zeros(length).double()
        for j, look in enumerate(looks):
            scores = []
            for i in range(length):
                xi = [total[n] if 0 <= n < length else torch.tensor(0.0).double() for n in range(i - k, i + k + 1)]
                inner = score.W_q(queries[b, j]) + score.W_k(keys[b, i]) + W @ torch.stack(xi)
                scores.append(score.w @ torch.tanh(inner))
            weights = torch.stack(scores).softmax(0)
            assert_close(look.weights[b, 0, :length], weights)
            total = total + weights
        assert_close(looks[-1].state[1][b, 0, :length], total)


@pytest.mark.thin
@one_or_many_heads
@pytest.mark.parametrize("score", every_score)
def test_it_speaks_under_any_score(score: str, heads: int | None) -> None:
    it_speaks("fertility", score=score, heads=heads)


@one_or_many_heads
def test_gradients(heads: int | None) -> None:
    gradients_are_right(attention_of("fertility", score="bilinear", heads=heads))


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_short_numbers(score: str, heads: int | None) -> None:
    it_runs_in_short_numbers("fertility", score=score, heads=heads)


@pytest.mark.sweep
def test_it_translates() -> None:
    translated("fertility")


@pytest.mark.sweep
def test_it_translates_beside_markov_and_position() -> None:
    """All three of Cohn's, in Luong's decoder."""
    translated("position", "markov", "fertility", place="after")


def test_options() -> None:
    assert Fertility(hidden=3).k == 2
    with pytest.raises(RegardError, match="k: got -2; expected a whole number from 0 to"):
        Fertility(hidden=3, k=-2)
