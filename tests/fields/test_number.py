"""Numbers on a scale."""

import pytest

from regard.errors import RegardError
from regard.fields.number import Number


def test_by_hand() -> None:
    field = Number(1, 5)
    assert field.names == ["1", "2", "3", "4", "5"]
    assert field.encode(["3.5", "5"], ["", ""]) == [[3.5], [5.0]]
    assert field.collate([[3.5], [5.0]]).tolist() == [3.5, 5.0]


@pytest.mark.parametrize("value", ["5.1", "0.9", "nan", "inf", "high", "", "3,5"])
def test_beyond_the_scale(value: str) -> None:
    with pytest.raises(RegardError, match=r"^r\.tsv:2: score .*; expected a number from 1 to 5; set head\.low") as told:
        Number(1, 5).encode(["1", value], ["r.tsv:1", "r.tsv:2"])
    assert repr(value) in str(told.value)


def test_a_guess_that_never_looks_at_the_input() -> None:
    """Always the mean of 2 and 4: a mean squared error of 1."""
    field, train = Number(1, 5), ["2", "4"]
    assert field.doubts(train, [("2", "2.5"), ("4", "4.5")]) == []
    assert field.doubts(train, [("2", "4"), ("4", "4")]) == ["mean squared error 2; always predicting the mean gives 1"]
    assert field.doubts(train, [("3", "5")]) == []  # nothing varies
