"""The words of an answer: function by function as SQuAD's official script, evaluate-v1.1.py."""

import pytest

from regard.measure._squad_words import best, exact, normalised, overlap


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("an apple, a pear", "apple pear"),
        ("theatre", "theatre"),  # no article
        ("U.S.A.", "usa"),
        ("the", ""),
        ("twenty-one", "twentyone"),
        ("«Ø»", "«ø»"),  # only ASCII punctuation goes
        ("10 %", "10"),
    ],
)
def test_normalised(text: str, found: str) -> None:
    assert normalised(text) == found


def test_f1_by_hand() -> None:
    """Two of three words said are among four true ones: P = 2/3, R = 1/2, F1 = 4/7."""
    assert overlap("big red kite", "a red kite with tails") == pytest.approx(4 / 7)
    assert overlap("red red", "red") == pytest.approx(2 / 3)  # a word counts as often as both have it
    assert overlap("blue", "red") == 0


def test_no_answer() -> None:
    """As evaluate-v2.0.py: nothing equals only nothing."""
    assert (exact("", ""), overlap("", ""), exact("", "x"), overlap("x", "")) == (1, 1, 0, 0)


def test_the_nearest_reference() -> None:
    assert best(exact, "the Kite", ["hat", "kite."]) == 1
    assert best(overlap, "red kite", ["hat", "kite"]) == pytest.approx(2 / 3)
