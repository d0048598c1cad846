"""Markov: a window of the last step's weights inside the score."""

import pytest
import torch
from bias_cases import (
    KEYS,
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
from regard.attend.bias.markov import Markov, windows
from regard.attend.score.additive import Additive
from regard.errors import RegardError
from tiers import sweep_but

one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])


def test_windows_by_hand() -> None:
    weights = torch.tensor([0.1, 0.2, 0.7])
    expected = torch.tensor([[0, 0, 0.1, 0.2, 0.7], [0, 0.1, 0.2, 0.7, 0], [0.1, 0.2, 0.7, 0, 0]])
    assert torch.equal(windows(weights, 2), expected)
    assert torch.equal(windows(weights, 0), weights[:, None])
    assert windows(torch.zeros(2, 0), 2).shape == (2, 0, 5)


def test_a_step_by_hand() -> None:
    """Hidden 1, a score of 2 tanh(0 + 0), and a window that looks one place back: W = (0, 1, 0, 0, 0)."""
    attention = Attention(Additive(1, 1, 1), bias=[Markov(1)])
    with torch.no_grad():
        for p in attention.parameters():
            p.zero_()
        attention.score.w.fill_(2.0)
        attention.bias[0].W[0, 1] = 1.0
    memory = attention.prepare(torch.zeros(1, 2, 1), torch.tensor([[[0.0], [1.0]]]))
    first, second = one_by_one(attention, torch.zeros(1, 2, 1), memory)
    # Weights (½, ½), so the second key sees ½ one place back: 1 / (1 + exp(−2 tanh ½)) = 0.715904.
    assert first.context.item() == pytest.approx(0.5)
    assert second.context.item() == pytest.approx(0.715904, abs=1e-6)


@pytest.mark.parametrize("k", [0, 1, 2, 9])
def test_steps_are_the_equation(k: int) -> None:
    attention = attention_of({"name": "markov", "k": k})
    queries, (memory, (keys, _)) = queries_of(4), memory_of(attention)
    W, score = attention.bias[0].W, attention.score
    looks = one_by_one(attention, queries, memory)
    for b, length in enumerate(LENGTHS):
        before = torch.zeros(length).double()
        for j, look in enumerate(looks):
            scores = []
            for i in range(length):
                xi = [before[n] if 0 <= n < length else torch.tensor(0.0).double() for n in range(i - k, i + k + 1)]
                inner = score.W_q(queries[b, j]) + score.W_k(keys[b, i]) + W @ torch.stack(xi)
                scores.append(score.w @ torch.tanh(inner))
            before = torch.stack(scores).softmax(0)
            assert_close(look.weights[b, 0, :length], before)


@one_or_many_heads
@pytest.mark.parametrize("bias", ["markov", "fertility"])
def test_one_hypothesis_is_as_one_of_many(bias: str, heads: int | None) -> None:
    """Alone its term is one of the keys, beside others one of each pair: the same answers."""
    attention = attention_of(bias, heads=heads)
    queries, (memory, _) = queries_of(4), memory_of(attention)
    alone = one_by_one(attention, queries, memory)
    state = None
    for j, look in enumerate(alone):
        pair = torch.stack([queries[:, j], queries.flip(1)[:, j]], 1)
        both = attention(pair, memory, state)
        state = both.state
        assert_close(both.context[:, :1], look.context)
    terms = [attention.bias[0].terms(memory, n, attention.bias[0].start(memory, n)) for n in (1, 2)]
    assert [(one.keys is None, one.pairs is None) for one in terms] == [(False, True), (True, False)]


@pytest.mark.thin
@one_or_many_heads
@pytest.mark.parametrize("score", sweep_but(every_score, "additive", "dot"))
def test_it_speaks_under_any_score(score: str, heads: int | None) -> None:
    it_speaks("markov", score=score, heads=heads)


@one_or_many_heads
def test_gradients(heads: int | None) -> None:
    gradients_are_right(attention_of({"name": "markov", "k": 1}, score="bilinear", heads=heads))


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_short_numbers(score: str, heads: int | None) -> None:
    it_runs_in_short_numbers("markov", score=score, heads=heads)


@pytest.mark.sweep
@pytest.mark.parametrize("heads", sweep_but([None, 2], None))
def test_it_translates(heads: int | None) -> None:
    translated("markov", heads=heads)


def test_steps_wait_for_each_other() -> None:
    attention = attention_of("markov")
    memory = memory_of(attention)[0]
    with pytest.raises(RegardError, match="3 queries of 1 hypotheses; expected as many"):
        attention(queries_of(3), memory, attention.start(memory))


def test_options() -> None:
    assert Markov(hidden=3).W.shape == (3, 5)
    assert Markov(hidden=3, k=0).W.shape == (3, 1)
    with pytest.raises(RegardError, match="k: got -1; expected a whole number from 0 to"):
        Markov(hidden=3, k=-1)
    assert Markov(3).start(memory_of(attention_of())[0], 2).shape == (len(LENGTHS), 2, KEYS)
