"""A place goes through JSON and back; a digest names exactly its examples."""

import json
import math
import re
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.train.state import TrainState, digest
from regard.types import Example

Rows = list[tuple[tuple[str, ...], str]]
texts = st.text("ab\x1f\n\x00\ud8001 ", max_size=4)  # with all that could pass for an end or a number
rows = st.lists(st.tuples(st.lists(texts, min_size=1, max_size=2).map(tuple), texts), max_size=4)


def test_through_json_and_back() -> None:
    fresh = TrainState(data="x", steps=10)
    assert math.isnan(TrainState.read(json.loads(json.dumps(asdict(fresh)))).best)
    place = TrainState(
        "x", 10, step=7, epoch=2, batch=3, best=0.1 + 0.2, since=1, spent=1 / 3, tokens=99, loss_sum=2 / 3
    )
    assert TrainState.read(json.loads(json.dumps(asdict(place)))) == place
    assert TrainState.read({"data": "x", "steps": 10}).step == 0  # a place from before there was more to say


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": -1}, "data is '-1'"),
        ({"data": None}, "data is 'None'"),
        ({"step": "3"}, "step is '3'"),
        ({"step": -1}, "step is '-1'"),
        ({"step": 1.5}, "step is '1.5'"),
        ({"step": True}, "step is 'True'"),
        ({"steps": 0}, "steps is '0'"),
        ({"epoch": 10**400}, "epoch is '1000"),
        ({"finished": 1}, "finished is '1'"),
        ({"best": []}, "best is '[]'"),
        ({"best": False}, "best is 'False'"),
        ({"spent": -1.0}, "spent is '-1.0'"),
        ({"spent": math.nan}, "spent is 'nan'"),
        ({"limit": 10**400}, "limit is '1000"),
        ({"other": 1}, "unknown key 'other'"),
    ],
)
def test_what_cannot_be_a_place(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        TrainState.read({**asdict(TrainState(data="x", steps=10)), **change})
    assert len(str(caught.value)) < 100


@pytest.mark.parametrize("table", [None, [], "x", 3, {}, {"steps": 3}, {"data": "x"}])
def test_no_place_at_all(table: Any) -> None:
    with pytest.raises(ValueError, match=r"it holds no table|is missing"):
        TrainState.read(table)


@given(rows, rows)
def test_a_digest_names_exactly_these_examples(some: Rows, others: Rows) -> None:
    first, second = ([Example(*row) for row in rows] for rows in (some, others))
    assert (digest(first) == digest(second)) == (some == others)


def test_no_text_passes_for_two() -> None:
    assert digest([Example(("a\x1fb",), "c")]) != digest([Example(("a", "b"), "c")])
    assert digest([Example(("a",), "b\x1f\nc\x1fd")]) != digest([Example(("a",), "b"), Example(("c",), "d")])


def test_order_counts_and_the_place_of_a_line_does_not() -> None:
    a, b = Example(("a",), "A", "x.tsv:1"), Example(("b",), "B", "x.tsv:2")
    assert digest([a, b]) != digest([b, a])
    assert digest([a, b]) == digest([Example(("a",), "A", "y.tsv:7"), b])
    assert digest([a]) != digest([])
    assert digest([Example(("a", "b"), "c")]) != digest([Example(("a",), "b"), Example(("c",), "")])
    assert digest([Example(("\ud800",), "")]) == digest([Example(("\ud800",), "")])  # even half a character
