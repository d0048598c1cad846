"""Numbered lines: bAbI's stories and the Children's Book Test."""

import pytest

from regard.data.numbered import is_numbered, read_numbered
from regard.data.readlog import ReadLog
from regard.errors import RegardError

BABI = [
    "1 Mary went to the hall.",
    "2 Bo left.",
    "3 Where is Mary? \thall\t1",
    "4 Mary left the hall.",
    "5 Where is Mary? \tout\t4 1",
    "1 Cy slept.",
    "2 Who slept?\tCy\t1",
]


def test_stories_of_babi() -> None:
    first, second, third = read_numbered("qa.txt", BABI, ReadLog())
    assert first.inputs == ("Mary went to the hall. Bo left.", "Where is Mary?")
    assert (first.target, first.where) == ("hall", "qa.txt:3")
    assert [first.source[a:b] for a, b in first.evidence] == ["Mary went to the hall."]
    assert [second.source[a:b] for a, b in second.evidence] == ["Mary left the hall.", "Mary went to the hall."]
    assert third.source == "Cy slept."  # a new story


def test_the_childrens_book_test() -> None:
    lines = ["1 Baby came .", "2 Bird sang .", "21 XXXXX sang .\tBird\t\tBaby|Bird", "", "1 Next ."]
    [one] = read_numbered("cbt.txt", lines, ReadLog())
    assert one.inputs == ("Baby came . Bird sang .", "XXXXX sang .")
    assert (one.target, one.choices, one.evidence) == ("Bird", ("Baby", "Bird"), ())


@pytest.mark.parametrize("line", ["no number", "3", "3 who?\t\t1", "2 \t"])
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(RegardError, match=r"^qa\.txt:2: "):
        read_numbered("qa.txt", ["1 Ada left.", line], ReadLog())
    log = ReadLog(skip=True)
    assert read_numbered("qa.txt", ["1 Ada left.", line, "2 Who?\tAda\t1"], log)[0].target == "Ada"
    assert log.faults[0].count == 1


def test_how_it_is_recognised() -> None:
    assert is_numbered("\n".join(BABI))
    assert not is_numbered("1 film\tgood\n0 film\tbad")
    assert not is_numbered("1 a fine film")
