"""Causal: nothing after one's own place, all at once, cached, and in short rows."""

import pytest
import torch
from bias_cases import (
    SIZE,
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

from regard.attend.attention import Attention
from regard.attend.bias.causal import Causal
from regard.attend.mask import causal
from regard.attend.score.dot import Dot
from regard.types import Memory
from tiers import sweep_but

one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])


def test_by_hand() -> None:
    """All scores 0: each place takes the mean of itself and what was before."""
    attention = Attention(Dot(1, 1), bias=[Causal()])
    x = torch.tensor([[[1.0], [3.0], [8.0]]])
    memory = attention.prepare(torch.zeros_like(x), x)
    look = attention(torch.zeros_like(x), memory, attention.start(memory))
    assert look.context.flatten().tolist() == pytest.approx([1.0, 2.0, 4.0])


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_self_attention_is_that_of_the_mask(score: str, heads: int | None) -> None:
    attention = attention_of("causal", score=score, heads=heads)
    plain = Attention(attention.score, heads=attention.heads)
    x, values = torch.randn(2, 5, SIZE).double(), torch.randn(2, 5, 6).double()
    padded = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    memory = attention.prepare(x, values, padded)
    expected = plain(x, memory, mask=causal(5, 5)[None])
    look = attention(x, memory, attention.start(memory))
    assert_close(look.context, expected.context)
    assert_close(look.weights, expected.weights)
    # A mask of the caller's own goes with it.
    both = attention(x, memory, attention.start(memory), mask=causal(5, 5)[None].flip(-1))
    assert_close(both.context, plain(x, memory, mask=(causal(5, 5) & causal(5, 5).flip(-1))[None]).context)


@one_or_many_heads
@pytest.mark.parametrize("sizes", [(1,) * 5, (2, 1, 2), (5,)])
def test_a_memory_that_grows_as_in_cached_decoding(sizes: tuple[int, ...], heads: int | None) -> None:
    """Keys so far, queries the last of them: at each size the answers of the whole, and the mask of `mask.causal`."""
    attention = attention_of("causal", "relative_position", heads=heads)
    x, values = torch.randn(2, 5, SIZE).double(), torch.randn(2, 5, 6).double()
    memory = attention.prepare(x, values)
    whole = attention(x, memory, attention.start(memory))
    state, at = attention.start(memory), 0
    for size in sizes:
        so_far = attention.prepare(x[:, : at + size], values[:, : at + size])
        seen = attention.bias[0].terms(so_far, size, state[1]).mask
        assert torch.equal(seen.reshape(2, size, at + size)[0], causal(size, at + size))
        look = attention(x[:, at : at + size], so_far, state)
        state = look.state
        assert_close(look.context, whole.context[:, at : at + size])
        at += size


@pytest.mark.thin
@one_or_many_heads
@pytest.mark.parametrize("score", sweep_but(every_score, "additive", "dot"))
def test_it_speaks_under_any_score(score: str, heads: int | None) -> None:
    it_speaks("causal", score=score, heads=heads)


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_all_at_once_is_one_by_one(score: str, heads: int | None) -> None:
    all_at_once_is_one_by_one(attention_of("causal", score=score, heads=heads))


@one_or_many_heads
def test_gradients(heads: int | None) -> None:
    attention = attention_of("causal", "relative_position", heads=heads)
    gradients_are_right(attention)
    queries, (memory, leaves) = queries_of(2), memory_of(attention, grad=True)
    answer = attention(queries, memory, attention.start(memory)).context
    for slope in torch.autograd.grad(answer.square().sum(), leaves):
        assert slope[:, :2].any()
        assert not slope[:, 2:].any()  # what is hidden learns nothing


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_short_numbers(score: str, heads: int | None) -> None:
    it_runs_in_short_numbers("causal", score=score, heads=heads)


def test_what_one_bias_hides_no_other_shows() -> None:
    attention = attention_of("causal", {"name": "window", "kind": "monotone", "D": 1}, score="scaled_dot")
    memory = attention.prepare(torch.randn(1, 4, SIZE).double())
    seen = attention(torch.randn(1, 4, SIZE).double(), memory, attention.start(memory)).weights[0] > 0
    assert seen.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]


def test_hidden_by_both_is_nothing_at_all() -> None:
    """Where the only key up to a place is padding, the answer is 0, fused or not, and its gradients too."""
    for dtype in (torch.float32, torch.float64):
        attention = attention_of("causal", score="scaled_dot").to(dtype)
        keys = torch.randn(1, 3, SIZE, dtype=dtype, requires_grad=True)
        memory = attention.prepare(keys, keys, torch.tensor([[False, True, True]]))
        look = attention(keys.detach(), memory, attention.start(memory))
        assert not look.context[:, 0].any()
        assert not look.weights[:, 0].any()
        look.context.square().sum().backward()
        assert keys.grad.isfinite().all()
        assert not keys.grad[:, 0].any()


@pytest.mark.sweep
@pytest.mark.parametrize("place", ["before", "after"])
def test_it_translates(place: str) -> None:
    """Source tokens become visible one a step."""
    translated("causal", place=place)


def test_each_hypothesis_by_its_own_place() -> None:
    keys = torch.zeros(1, 4, 1)
    seen = Causal().terms(Memory(keys, keys), 2, torch.tensor([[2, 0]])).mask
    assert seen.tolist() == [[[True, True, True, False], [True, False, False, False]]]
