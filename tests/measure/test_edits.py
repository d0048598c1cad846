"""Edit distance: by hand, and as an exhaustive recursion finds it."""

from functools import cache
from random import Random

import pytest

from regard.measure._edits import edits


@pytest.mark.parametrize(
    ("one", "other", "number"),
    [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "", 3), ("", "", 0), ("flaw", "lawn", 2), ("aaa", "aaa", 0)],
)
def test_by_hand(one: str, other: str, number: int) -> None:
    assert edits(one, other) == edits(other, one) == number


def test_as_the_recursion() -> None:
    @cache
    def by_definition(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        return min(
            by_definition(a[1:], b) + 1, by_definition(a, b[1:]) + 1, by_definition(a[1:], b[1:]) + (a[0] != b[0])
        )

    chance = Random(1)
    for _ in range(50):
        a, b = ("".join(chance.choices("abc", k=chance.randint(0, 7))) for _ in range(2))
        assert edits(a, b) == by_definition(a, b)
