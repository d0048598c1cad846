"""Items: ids by frequency, one vector for all that are unknown, a region each."""

import pytest

from regard.errors import RegardError
from regard.fields.items import UNKNOWN, Items
from regard.regions import Item


def test_by_hand() -> None:
    """b17 twice, then c4 and a1 by name; numbers begin after the special ones."""
    field = Items(embed={"dim": 3})
    field.fit(["b17 c4 b17", "a1"])
    assert field.numbers == {"b17": 4, "a1": 5, "c4": 6}
    rows = field.encode(["c4 b17", "new"], ["", ""])
    assert rows == [[6, 4], [UNKNOWN]]
    assert field.embedding()(field.collate(rows)).values.shape == (2, 2, 3)
    assert field.regions(["c4 b17"]) == [(Item("c4", 0), Item("b17", 1))]
    assert field.drop([6, 4], (0,)) == [4]
    again = Items()
    again.restore(field.state())
    assert again.numbers == field.numbers
    profile = field.profile(["c4 b17 c4", "a1"])
    assert (profile.length, profile.distinct) == (2.0, 3)


def test_rare_ids_share_the_unknown_one() -> None:
    field = Items(min_frequency=2)
    field.fit(["a a b", "b c"])
    assert list(field.numbers) == ["a", "b"]
    few = Items(vocab_size=5)
    few.fit(["a a b"])
    assert list(few.numbers) == ["a"]  # four numbers are special


def test_lists_that_are_empty_or_too_long() -> None:
    field = Items(max_length=2)
    field.fit(["a b"])
    for value, count in (("", 0), ("a b a", 3)):
        with pytest.raises(RegardError, match=rf"^i\.tsv:3: {count} ids in the input; expected 1 to 2$"):
            field.encode([value], ["i.tsv:3"], "input")
    with pytest.raises(RegardError, match=r"^embed\.vectors for items; expected vectors that are learned"):
        Items(embed={"vectors": "glove.txt"})
