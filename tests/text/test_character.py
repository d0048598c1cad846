import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.regions import Token
from regard.text.character import Character

ALPHABET = "abcßİé\u0301 \n\t\r\x00<>/s▁😀\u200dש\u2028"


def test_by_hand() -> None:
    text = Character().train(["bab a"])  # b 2, a 2, space 1: ties in the order of the characters
    assert text.vocabulary[4:] == ["a", "b", " "]
    assert text.encode("ab a") == [4, 5, 6, 4, 3]
    assert text.tokens("a ") == (Token("a", 0, 1), Token(" ", 1, 2), Token("</s>", 2, 2))
    assert text.decode([2, 5, 4, 1, 3, 5]) == "ba<unk>"
    assert text.pieces([5, 1, 3, 0]) == (
        Token("b", 0, 1),
        Token("<unk>", 1, 6),
        Token("</s>", 6, 6),
        Token("<pad>", 6, 6),
    )


@given(st.text(ALPHABET))
def test_known_characters_come_back(written: str) -> None:
    text = Character().train([ALPHABET])
    assert text.decode(text.encode(written)) == written
    assert [token.text for token in text.tokens(written)[:-1]] == list(written)


@given(st.text())
def test_one_token_a_code_point(written: str) -> None:
    text = Character().train(["abc"])
    assert [(token.start, token.end) for token in text.tokens(written)[:-1]] == [
        (place, place + 1) for place in range(len(written))
    ]


def test_rare_characters_are_unknown() -> None:
    text = Character(min_frequency=2).train(["aab"])
    assert text.encode("ab") == [4, text.unknown, text.end]


def test_small_letters_of_another_length() -> None:
    text = Character(lower=True).train(["İSTANBUL"])  # İ becomes i and a dot above
    tokens = text.tokens("aİB")
    assert [(token.text, token.start, token.end) for token in tokens] == [
        ("a", 0, 1),
        ("İ", 1, 2),
        ("İ", 1, 2),
        ("B", 2, 3),
        ("</s>", 3, 3),
    ]
    assert text.decode(text.encode("İST")) == "i\u0307st"


@pytest.mark.parametrize("typed", ["<s>", "</s>", "<pad>", "<unk>", "< s >"])
def test_specials_typed_are_characters(typed: str) -> None:
    text = Character().train([typed])
    assert len(text.encode(typed)) == len(typed) + 1
    assert text.decode(text.encode(typed)) == typed
