"""Regions: what a weight refers to."""

import pytest

from regard.regions import KINDS, Box, Entry, Interval, Item, Region, Token, from_dict, joined, to_dict

SOME: list[Region] = [
    Token("New", 0, 3),
    Box(0.0, 0.25, 0.5, 0.75),
    Interval(1.5, 2.25),
    Item("b17", 3),
    Entry("area", "riverside"),
]


@pytest.mark.parametrize("region", SOME, ids=lambda one: one.kind)
def test_a_region_survives_json(region: Region) -> None:
    assert from_dict(to_dict(region)) == region


def test_every_kind_has_a_name_in_words() -> None:
    assert {one.kind for one in SOME} == set(KINDS)
    said = ["New", "0%–50% × 25%–75%", "1.50–2.25 s", "b17", "area: riverside"]
    assert [one.text for one in SOME] == said


def test_tokens_join_to_the_characters_from_the_first_to_the_last() -> None:
    words = (Token("in", 0, 2), Token("New", 3, 6), Token("York", 7, 11))
    assert joined(words, [(0, 1), (1, 3)]) == (words[0], Token("New York", 3, 11))


def test_boxes_join_to_the_smallest_box_around_them() -> None:
    assert joined((Box(0.5, 0.0, 1.0, 0.5), Box(0.0, 0.25, 0.5, 0.75)), [(0, 2)]) == (Box(0.0, 0.0, 1.0, 0.75),)


def test_intervals_join_in_time() -> None:
    assert joined((Interval(0.0, 0.1), Interval(0.1, 0.2)), [(0, 2)]) == (Interval(0.0, 0.2),)


def test_anything_else_joins_by_its_words() -> None:
    assert joined((Item("b17", 3), Item("b18", 4)), [(0, 2)]) == (Item("b17 b18", 3),)
    assert joined((Entry("area", "riverside"), Item("b18", 4)), [(0, 2)]) == (Item("area: riverside b18", -1),)


@pytest.mark.parametrize(
    "wrong", [{"kind": "token", "text": 1, "start": 0, "end": 1}, {"kind": "pixel"}, {"text": "a"}]
)
def test_other_tables_are_no_regions(wrong: dict[str, object]) -> None:
    with pytest.raises((TypeError, KeyError)):
        from_dict(wrong)
