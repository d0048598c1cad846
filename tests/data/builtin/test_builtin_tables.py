"""Tables: texts by hand, a reader that gets every record back, and places that training never meets."""

import hashlib
import os
import re
import subprocess
import sys

import pytest

from regard.data.builtin.tables import OPENINGS, PLACES, Tables, example, say
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.records import parse


@pytest.fixture(scope="module")
def splits() -> Splits:
    return Tables(1_500, 100, 200).splits()


further = {
    "wind": "The wind comes from the east.",
    "wet": "The chance of rain is 60 percent, so take an umbrella.",
    "dry": "The chance of rain is 50 percent.",
    "cold": "At night it will be a frosty -1 degrees, by day 1.",
    "hot": "By day it will be a hot 28 degrees, at night 19.",
    "cool": "By day it will be 1 degree, at night 0.",
}


@pytest.mark.parametrize(
    ("record", "text"),
    [
        ("place[Oslo], day[Monday], sky[cloudy]", "In Oslo it will be cloudy on Monday."),
        ("wind[east], sky[grey], day[Friday], place[Pisa]", "A grey day is expected in Pisa on Friday. | wind"),
        ("day[Friday], rain[60], sky[grey], place[Pisa]", "On Friday it will be grey in Pisa. | wet"),
        ("day[Friday], rain[50], sky[grey], place[Pisa]", "On Friday it will be grey in Pisa. | dry"),
        ("low[-1], day[Friday], sky[grey], place[Pisa], high[1]", "On Friday it will be grey in Pisa. | cold"),
        (
            "day[Friday], high[28], wind[east], low[19], sky[grey], place[Pisa]",
            "On Friday it will be grey in Pisa. | hot | wind",
        ),
        ("day[Friday], high[1], low[0], sky[grey], place[Pisa]", "On Friday it will be grey in Pisa. | cool"),
    ],
)
def test_by_hand(record: str, text: str) -> None:
    assert say(dict(parse(record)))[0] == " ".join(further.get(part, part) for part in text.split(" | "))


def order(text: str) -> list[str]:
    """The kinds of sentences, in the order they stand in."""
    signs = {"wind": "wind", "rain": "rain", "high": "By day", "low": "At night"}
    found = [(at, name) for name, sign in signs.items() if (at := text.find(sign)) >= 0]
    return [name for _, name in sorted(found)]


def test_the_order_of_the_fields_decides(splits: Splits) -> None:
    for one in splits.train:
        fields = [field.name for field in parse(one.source)]
        opening = next(name for name in fields if name in OPENINGS)
        first = {"place": "In ", "day": "On ", "sky": "A "}[opening]
        assert one.target.startswith(first)
        rest = [name for name in fields if name not in OPENINGS]
        if "high" in rest:
            rest.remove(max(("high", "low"), key=rest.index))
        assert order(one.target) == rest


def test_every_value_is_said_where_the_links_say(splits: Splits) -> None:
    for one in splits.train:
        fields = parse(one.source)
        assert len(one.links) == len(fields)
        for field, link in zip(fields, one.links, strict=True):
            assert one.target[link.target_start : link.target_end] == field.value
            assert one.source[link.source_start : link.source_end] == field.value
            assert one.source[: link.source_start].endswith(f"{field.name}[")


def test_what_is_to_be_understood(splits: Splits) -> None:
    seen = set()
    for one in splits.train:
        values = dict(parse(one.source))
        for name, sign, holds in (
            ("rain", "umbrella", lambda n: n >= 60),
            ("high", "a hot ", lambda n: n >= 28),
            ("low", "a frosty ", lambda n: n < 0),
        ):
            wanted = name in values and holds(int(values[name]))
            assert (sign in one.target) == wanted
            seen.add((sign, wanted))
        assert int(values.get("low", 0)) < int(values.get("high", 1))
    assert len(seen) == 6


def test_one_text_for_a_record(splits: Splits) -> None:
    texts: dict[str, str] = {}
    for one in splits.train:
        assert texts.setdefault(one.source, one.target) == one.target
        assert example(dict(parse(one.source))) == one


def test_places_of_the_test_are_new(splits: Splits) -> None:
    def places(part: list) -> set[str]:
        return {dict(parse(one.source))["place"] for one in part}

    train, valid, test = map(places, (splits.train, splits.valid, splits.test))
    assert not train & valid
    assert not train & test
    assert not valid & test
    assert len(train | valid | test) > 100
    assert all(re.fullmatch("[A-Z][a-z]+", place) for place in PLACES)
    assert len(set(PLACES)) == len(PLACES)


@pytest.mark.sweep
def test_the_same_in_every_process(splits: Splits) -> None:
    code = "from regard.data.builtin.tables import Tables; import hashlib; print(hashlib.sha256(repr("
    code += "Tables(50, 5, 5).splits().train).encode()).hexdigest())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "7"}
    )
    assert done.stdout.strip() == hashlib.sha256(repr(splits.train[:50]).encode()).hexdigest()
    assert Tables(50, 5, 5, seed=2).splits().train != splits.train[:50]


def test_too_few() -> None:
    assert Tables(0, 0, 0).splits() == Splits([])
    with pytest.raises(RegardError, match="train: got -1"):
        Tables(-1)
