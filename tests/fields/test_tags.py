"""Tags: a label for each position, with spaces between; padding has none."""

import pytest

from regard.errors import RegardError
from regard.fields.tags import NOTHING, Tags


def test_by_hand() -> None:
    field = Tags()
    field.fit(["DET NOUN", "NOUN"])
    assert field.names == ["DET", "NOUN"]
    rows = field.encode(["DET  NOUN ", "NOUN"], ["", ""])  # several spaces are one
    assert rows == [[0, 1], [1]]
    found = field.collate(rows)
    assert found.values.tolist() == [[0, 1], [1, NOTHING]]
    assert found.lengths.tolist() == [2, 1]
    assert field.labels("B-X,Y\tZ O") == ["B-X,Y\tZ", "O"]  # at spaces only


def test_an_unknown_one_is_told_with_its_line() -> None:
    field = Tags()
    field.fit(["day month"])
    with pytest.raises(RegardError, match=r"^d\.tsv:3: label 'dai'"):
        field.encode(["day dai"], ["d.tsv:3"])


def test_padding_is_that_of_the_head() -> None:
    from regard.predict import tag

    assert NOTHING == tag.NOTHING
