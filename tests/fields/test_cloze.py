"""Cloze: the words of a document, all occurrences of each, and answers that are in no document."""

import pytest

from regard.errors import RegardError
from regard.fields.cloze import Candidates, Cloze, same_word
from regard.text.word import Word


def tokens(text: str) -> list[tuple[int, int]]:
    return Word(split="punctuation").train([text]).spans_all([text])[0][1]


def test_every_occurrence_counts_whatever_its_case() -> None:
    text = "Ada met Bo. ada left."
    words = Candidates.of(text, tokens(text))
    assert words.names == ("Ada", "met", "Bo", "left")
    assert words.groups == (0, 1, 2, -1, 0, 3, -1)
    assert (words.number("ADA"), words.number("Cy")) == (0, -1)


def test_only_the_choices_that_are_there() -> None:
    text = "@entity3 met @entity12 in New York , not @entity3 's"
    words = Candidates.of(text, tokens(text), ["@entity12", "@entity3", "@entity9", "New York"])
    assert words.names == ("@entity12", "@entity3", "New York")
    shown = [(text[a:b], group) for (a, b), group in zip(tokens(text), words.groups, strict=True) if group >= 0]
    assert shown == [
        *(("@", 1), ("entity3", 1), ("@", 0), ("entity12", 0), ("New", 2), ("York", 2)),
        *(("@", 1), ("entity3", 1)),
    ]


def test_a_word_that_is_split() -> None:
    text = "well-known, he's 3.5"
    assert Candidates.of(text, tokens(text)).names == ("well-known", "he's", "3.5")
    assert set(Candidates.of(text, tokens(text)).groups) == {0, 1, 2, -1}


def test_answers_outside() -> None:
    one = Cloze()
    one.learn(["Ada is here.", "Bo.", "x"], ["yes", "Bo", "no"], [(), (), ("no",)])
    assert one.outside == ("yes",)  # of the last the choices are given
    again = Cloze()
    again.restore(one.state())
    assert again.outside == one.outside
    with pytest.raises(RegardError, match="2,000 different answers that are not in their documents"):
        one.learn(["x"] * 2000, [f"y{n}" for n in range(2000)])


def test_one_word() -> None:
    assert same_word(" New  York ") == "new york"
    assert Cloze().collate([1, 2]).tolist() == [1, 2]
