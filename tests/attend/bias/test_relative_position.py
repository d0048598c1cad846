"""Relative position: a learned number for each clipped distance, or a fixed slope, added to the scores."""

import pytest
import torch
from bias_cases import (
    SIZE,
    VALUE,
    all_at_once_is_one_by_one,
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
from regard.attend.bias.relative_position import RelativePosition
from regard.attend.heads import Heads
from regard.attend.score.scaled_dot import ScaledDot
from regard.errors import RegardError
from regard.types import Memory
from tiers import sweep_but

one_or_many_heads = pytest.mark.parametrize("heads", [None, 2])
linear = {"name": "relative_position", "kind": "linear"}
either_kind = pytest.mark.parametrize(
    "bias", [{"name": "relative_position", "largest": 2}, linear], ids=["learned", "linear"]
)


def test_numbers_by_hand() -> None:
    part = RelativePosition(heads=None, largest=1)
    part.b.data = torch.tensor([[10.0, 20.0, 30.0]])  # of −1 and less, of 0, of 1 and more
    keys = torch.zeros(1, 4, 1)
    scores = part.terms(Memory(keys, keys), 3, part.start(Memory(keys, keys), 1)).scores
    assert scores.tolist() == [[[20, 30, 30, 30], [10, 20, 30, 30], [10, 10, 20, 30]]]


def test_slopes_by_hand() -> None:
    """Two heads: 2^−4 and 2^−8. Eight heads: 1/2, 1/4, … as in the paper; one: 2^−8."""
    keys = torch.zeros(1, 2, 3, 1)
    part = RelativePosition(heads=2, kind="linear")
    scores = part.terms(Memory(keys, keys), 1, torch.tensor([[2]])).scores
    assert scores.tolist() == [[[[-2 / 16, -1 / 16, 0]], [[-2 / 256, -1 / 256, 0]]]]
    assert RelativePosition(heads=8, kind="linear").m.flatten().tolist() == [2.0**-n for n in range(1, 9)]
    assert RelativePosition(heads=None, kind="linear").m.flatten().tolist() == [2.0**-8]
    assert not list(part.parameters())
    assert not part.state_dict()  # it can always be made again


@one_or_many_heads
def test_steps_are_the_equation(heads: int | None) -> None:
    attention = attention_of({"name": "relative_position", "largest": 2}, score="scaled_dot", heads=heads)
    plain = Attention(attention.score, heads=attention.heads)
    queries, (memory, _) = queries_of(), memory_of(attention)
    looks = one_by_one(attention, queries, memory)
    b = attention.bias[0].b
    for j, look in enumerate(looks):
        bare = plain(queries[:, j : j + 1], memory).weights
        apart = [max(-2, min(2, i - j)) + 2 for i in range(memory.keys.shape[-2])]
        lifted = bare * (b[:, apart].exp().unsqueeze(1) if heads else b[0, apart].exp())
        assert_close(look.weights, lifted / lifted.sum(-1, keepdim=True))
    assert b.shape == (heads or 1, 5)


@one_or_many_heads
@either_kind
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
def test_all_at_once_is_one_by_one(bias: dict[str, object], score: str, heads: int | None) -> None:
    all_at_once_is_one_by_one(attention_of(bias, score=score, heads=heads))


@pytest.mark.thin
@one_or_many_heads
@pytest.mark.parametrize("score", sweep_but(every_score, "additive", "dot"))
def test_it_speaks_under_any_score(score: str, heads: int | None) -> None:
    it_speaks("relative_position", score=score, heads=heads)
    it_speaks(linear, score=score, heads=heads)


@one_or_many_heads
def test_gradients(heads: int | None) -> None:
    gradients_are_right(attention_of({"name": "relative_position", "largest": 2}, score="bilinear", heads=heads))


@one_or_many_heads
@pytest.mark.parametrize("score", ["additive", "scaled_dot"])
@either_kind
def test_short_numbers(bias: dict[str, object], score: str, heads: int | None) -> None:
    it_runs_in_short_numbers(bias, score=score, heads=heads)


@pytest.mark.sweep
@pytest.mark.parametrize("heads", [None, 2])
def test_it_translates(heads: int | None) -> None:
    translated({"name": "relative_position", "largest": 3}, heads=heads)


@pytest.mark.sweep
def test_it_translates_with_slopes() -> None:
    translated(linear, place="after")


def test_one_set_serves_all_heads_where_none_were_told() -> None:
    around = Heads(SIZE, SIZE, VALUE, 2, 4)
    attention = Attention(ScaledDot(2, 2), bias=[RelativePosition(heads=None)], heads=around).double()
    attention.bias[0].b.data.normal_()
    other = Attention(attention.score, bias=[RelativePosition(heads=2)], heads=around).double()
    other.bias[0].b.data = attention.bias[0].b.data.expand(2, -1)
    queries, memory = queries_of(), memory_of(attention)[0]
    state = attention.start(memory)
    assert_close(attention(queries, memory, state).context, other(queries, memory, state).context)
    wrong = Attention(attention.score, bias=[RelativePosition(heads=3)], heads=around).double()
    with pytest.raises(RegardError, match="relative_position bias for 3 heads in attention with 2"):
        wrong(queries, memory)
    with pytest.raises(RegardError, match="relative_position bias for 3 heads in attention with none"):
        Attention(ScaledDot(SIZE, SIZE), bias=[RelativePosition(heads=3)]).double()(
            queries, memory_of(attention_of())[0]
        )


def test_options() -> None:
    assert RelativePosition(heads=None).b.shape == (1, 33)
    assert not RelativePosition(heads=4).b.any()
    with pytest.raises(RegardError, match="largest: got 0; expected a whole number from 1 to"):
        RelativePosition(heads=None, largest=0)
