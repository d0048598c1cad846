"""Allowed replies: made from data, and read from a file that people edit."""

from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.messages.allowed import made, read_replies, write_replies


def test_allowed_replies_are_the_frequent_suitable_ones(tmp_path: Path) -> None:
    data = ["Sure!", "sure", "Sure!", "No, sorry.", "At _time_.", "Shut up.", "a b c d e f g h i j k", "  "]
    found = made(data)
    assert [(one.text, one.intent, one.polarity, one.count) for one in found] == [
        ("Sure!", "accept", "positive", 3), ("No, sorry.", "decline", "negative", 1),
    ]  # fmt: skip
    assert [one.text for one in made(data, most=1)] == ["Sure!"]
    assert [one.text for one in made(data, min_count=2)] == ["Sure!"]
    path = write_replies(tmp_path / "replies.tsv", found)
    assert read_replies(path) == found
    path.write_text("Maybe later.\nYes.\tagree\n")
    assert [(one.text, one.intent) for one in read_replies(path)] == [("Maybe later.", "postpone"), ("Yes.", "agree")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no replies"),
        ("Yes.\na\tb\tc\td\te", "2: 5 fields"),
        ("Yes.\tx\thappy", "polarity 'happy'; expected positive"),
        ("Yes.\tx\tpositive\tmany", "count 'many'"),
        ("Yes.\nyes!", "stands in line 1 too"),
        ("...", "without words"),
    ],
)
def test_a_file_of_replies_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "replies.tsv"
    path.write_text(text)
    with pytest.raises(RegardError, match=said):
        read_replies(path)
