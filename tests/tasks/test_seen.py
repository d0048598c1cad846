"""Where a network looked in a batch: the pooling and the encoder, as arrays, with single features only on demand."""

import numpy as np
import pytest

from regard.networks.reader import Read
from regard.regions import Token
from regard.tasks._seen import Seen
from regard.types import Sequences
from sentence_tasks import first, reader, second


def read_by(encoder: str, pool: str | None = "attention") -> Read:
    read = reader(encoder, pool).read([Sequences.pad(first), Sequences.pad(second)])
    assert isinstance(read, Read)
    return read


@pytest.mark.parametrize(("encoder", "squares"), [("bigru", None), ("lstmn", ()), ("disan", (2,)), ("resan", (2,))])
def test_what_was_seen(encoder: str, squares: tuple[int, ...] | None) -> None:
    read = read_by(encoder)
    seen = Seen.of(read, ("forward", "backward"))
    assert seen.pooling is not None
    assert read.pooled is not None
    assert read.pooled.look is not None
    assert seen.pooling.shape == (6, 1, 5)
    assert np.array_equal(seen.pooling, read.pooled.look.weights.detach().numpy())
    assert [array.shape for _, array in seen.encoder] == ([] if squares is None else [(6, *squares, 5, 5)])
    assert set(seen.chosen) == ({"heads", "dependents"} if encoder == "resan" else set())
    assert seen.single == {}
    if encoder == "disan":
        assert np.allclose(seen.encoder[0][1], read.memory.looks[0][1].weights.detach().numpy().mean(-1))
        single = Seen.of(read, ("forward", "backward"), 2).single
        assert {name: one.shape for name, one in single.items()} == {"self-attention": (6, 2, 5, 5, 3)}


def test_nothing_was_seen() -> None:
    for pool in ("mean", None):
        part = reader("bigru", pool, pair=False)
        seen = Seen.of(part.read([Sequences.pad(first)]), ())
        assert (seen.pooling, seen.encoder, seen.chosen) == (None, (), {})
        assert seen.attention_maps([0], [[Token("a")]], ["a"], "", "yes", ["text"], "label") == ()


def test_the_gazes_of_a_pair_are_of_its_own_rows() -> None:
    seen = Seen.of(read_by("lstmn"), ())
    assert seen.pooling is not None
    columns = [[Token("a")], [Token(letter) for letter in "bcdef"]]  # the second pair: rows 1 and 3 + 1
    pooling, one, other = seen.attention_maps(
        [1, 4], columns, ["a", "b c d e f"], "", "yes", ["premise", "hypothesis"], "label"
    )
    assert [one.axes for one in (pooling, one, other)] == [
        ("label", "premise | hypothesis"),
        ("premise", "premise"),
        ("hypothesis", "hypothesis"),
    ]
    assert (pooling.title, pooling.breaks, [token.text for token in pooling.rows]) == ("a | b c d e f", (1,), ["yes"])
    assert np.allclose(pooling.weights, np.concatenate([seen.pooling[1][:, :1], seen.pooling[4]], -1))
    assert np.allclose(one.weights, seen.encoder[0][1][1][:1, :1])
    assert np.allclose(other.weights, seen.encoder[0][1][4])
