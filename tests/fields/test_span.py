"""Span: where an answer stands, in any script, and the tokens it lies in."""

from itertools import pairwise

import pytest

from regard.errors import RegardError
from regard.fields.span import Span, guessed
from regard.text.word import Word

span = Span()


@pytest.mark.parametrize(
    ("document", "answer", "given", "found"),
    [
        ("Ada was born in London.", "London", None, (16, 22)),
        ("a party of art", "art", None, (11, 14)),  # a word rather than a part of one
        ("a party", "art", None, (3, 6)),
        ("x London y London", "London", (11, 17), (11, 17)),
        ("x London y London", "London", (12, 18), (11, 17)),  # a place that is off by one
        ("In New  York now", "new york", None, (3, 12)),
        ("C++ (or C)", "C++", None, (0, 3)),  # no pattern
        ("北京是中国的首都", "中国", None, (3, 5)),
        ("İstanbul güzel", "güzel", None, (9, 14)),
        ("cafe\u0301 noir", "cafe\u0301", None, (0, 5)),
        ("🙂 yes", "yes", None, (2, 5)),
    ],
)
def test_where_an_answer_stands(
    document: str, answer: str, given: tuple[int, int] | None, found: tuple[int, int]
) -> None:
    assert span.locate(document, answer, given) == found


def test_an_answer_that_is_not_there() -> None:
    with pytest.raises(RegardError, match=r"t\.tsv:3: the answer 'Rome' is not in the document; expected a part of"):
        span.locate("Ada was born in London.", "Rome", None, "t.tsv:3")


def test_every_place_of_an_answer() -> None:
    """Whole words only, with any space between them; where there is none, the place that is known."""
    assert span.everywhere("art, a party of art", "art", (0, 3)) == [(0, 3), (16, 19)]
    assert span.everywhere("New York or New  York", "New York", (0, 8)) == [(0, 8), (12, 21)]
    assert span.everywhere("a party", "art", (3, 6)) == [(3, 6)]
    assert span.everywhere("C++ (C++)", "C++", (0, 3)) == [(0, 3), (5, 8)]


def test_the_tokens_of_an_answer() -> None:
    tokens = [(0, 3), (4, 7), (8, 12), (12, 13)]
    assert span.covering(tokens, (4, 12)) == (1, 2)
    assert span.covering(tokens, (5, 6)) == (1, 1)
    assert span.covering(tokens, (2, 5)) == (0, 1)
    assert span.covering(tokens, (3, 4)) is None  # the space between two


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize(
    "text", ["İstanbul, ĞÜZEL şehir.", "Straße (nass)  und ẞ", "北京 是 首都。", "नमस्ते दुनिया!", "🙂 a\u0301b 👍🏽"]
)
def test_offsets_are_those_of_the_users_own_text(text: str, lower: bool) -> None:
    """Every token covers its own characters, in order; together they cover all but spaces."""
    trained = Word(lower=lower, split="punctuation").train([text])
    [(ids, spans)] = trained.spans_all([text])
    assert ids == trained.encode(text)[:-1]
    assert [(token.start, token.end) for token in trained.tokens(text)[:-1]] == spans
    assert "".join(text[a:b] for a, b in spans).replace(" ", "") == text.replace(" ", "")
    for (_, before), (after, _) in pairwise(spans):
        assert before <= after


def test_what_was_learned() -> None:
    one = Span()
    one.fit(["a", ""])
    assert one.state() == {"unanswered": True}
    span.restore({"unanswered": False})
    assert not span.unanswered
    with pytest.raises(RegardError, match="every answer is empty"):
        one.fit(["", " "])


def test_a_guess() -> None:
    assert guessed(["a", "a", "b"], [("a", "a"), ("b", "a")]) == ["the same prediction for all 2 questions"]
    assert guessed(["a", "b"], [("a", "a"), ("b", "b")]) == []
    [said] = guessed(["a", "a"], [("a", "b"), ("a", "c"), ("c", "a")])
    assert said == "exact match 0.0%; always predicting the most frequent answer gives 66.7%"


def test_a_batch_of_places() -> None:
    assert span.collate([((1, 2),), ((0, 0), (3, 4))]).tolist() == [[[1, 2], [-1, -1]], [[0, 0], [3, 4]]]
    assert span.encode(["a"], ["x"]) == ["a"]
