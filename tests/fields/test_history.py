"""History: items by number, users by their names, and the item that follows."""

import pytest

from regard.errors import RegardError
from regard.fields.history import FIRST, History, NextItem
from regard.fields.items import UNKNOWN
from regard.regions import Item


def history() -> History:
    """b twice, then a and c by name: numbers 4, 5 and 6."""
    field = History(embed={"dim": 3})
    field.fit(["b a b", "c"])
    field.users = {"ann": "a b", "bob lee": "c"}
    return field


def test_by_hand() -> None:
    field = history()
    assert field.ids == ["b", "a", "c"]
    rows = field.encode(["c new b", "user:ann", "user: bob lee"], ["", "", ""])
    assert rows == [[6, UNKNOWN, FIRST], [5, 4], [6]]
    read = field.collate(rows)
    assert read.values.tolist() == [[6, 4], [5, 4], [6, 0]]  # what is not known is not read
    assert read.lengths.tolist() == [2, 2, 1]
    assert field.embedding()(read).values.shape == (3, 2, 3)
    assert field.regions(["user:ann", "c new"]) == [(Item("a", 0), Item("b", 1)), (Item("c", 0), Item("new", 1))]
    assert field.sizes(["a b c", "user:ann"]) == {"items": [3, 2]}


def test_what_it_knows_comes_back() -> None:
    field, again = history(), History(embed={"dim": 3})
    field.users["dan"] = "new a"
    again.restore(field.state())
    assert again.numbers == field.numbers
    assert again.users == {"ann": "a b", "bob lee": "c", "dan": "a"}
    assert again.state() == field.state()


def test_wrong_values_are_told_in_one_line() -> None:
    field = history()
    with pytest.raises(RegardError, match=r"^h\.tsv:3: no user 'amn'; expected a user of .*; did you mean 'ann'\?$"):
        field.encode(["user:amn"], ["h.tsv:3"])
    with pytest.raises(RegardError, match=r"^h\.tsv:4: an empty history; expected at least one item$"):
        field.encode([" "], ["h.tsv:4"])
    with pytest.raises(RegardError, match=r"no user 'ann'; expected items, since this run keeps no users"):
        History().encode(["user:ann"], [""])


def test_an_item_that_is_called_like_a_user() -> None:
    field = History()
    field.fit(["user:1 b"])
    field.users = {"1": "b"}
    assert field.encode(["user:1"], [""]) == [[field.numbers["user:1"]]]


def test_the_item_that_follows() -> None:
    item = NextItem(history())
    assert item.encode(["a", "new"], ["", ""]) == [5, UNKNOWN]
    assert item.collate([5, UNKNOWN]).tolist() == [5, 1]
    with pytest.raises(RegardError, match=r"^x:1: 2 ids as the target; expected one$"):
        item.encode(["a b"], ["x:1"], "target")


def test_the_same_recommendation_for_all_is_doubted() -> None:
    item = NextItem(history())
    assert item.doubts([], [("a", "b"), ("c", "b")]) == ["the same recommendation for all 2 histories"]
    assert item.doubts([], [("a", "b"), ("c", "a")]) == []
