"""Placeholders: values out and back again, also where one holds another, and tokens that move with them."""

import pytest

from regard.records import parse, write
from regard.records.placeholders import hide, put_back, set_aside
from regard.regions import Token
from regard.text.bpe import Bpe
from regard.text.word import Word

record = "name[Blue Spice], eatType[pub], near[Spice]"


def test_set_aside() -> None:
    fields, values = set_aside(parse(record), ("name", "near", "food"))
    assert write(fields) == "name[x_name], eatType[pub], near[x_near]"
    assert values == {"x_name": "Blue Spice", "x_near": "Spice"}
    assert set_aside(parse(record), ()) == (parse(record), {})


def test_fields_of_like_names_have_placeholders_of_their_own() -> None:
    fields, values = set_aside(parse("customer rating[5], customerRating[6], customer rating[7]"), ("customer rating",))
    assert values == {"x_customerrating": "5", "x_customerrating2": "7"}
    assert [field.value for field in fields] == ["x_customerrating", "6", "x_customerrating2"]


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("Blue Spice is a pub near Spice.", "x_name is a pub near x_near."),
        ("At BLUE  SPICE: spice!", "At x_name: x_near!"),
        ("Spicey Blue", "Spicey Blue"),  # neither is mentioned
        ("Blue Spice Blue Spice", "x_name x_name"),
        ("", ""),
    ],
)
def test_hide(text: str, hidden: str) -> None:
    assert hide(text, {"x_near": "Spice", "x_name": "Blue Spice"}) == hidden


def test_put_back() -> None:
    values = {"x_name": "Blue Spice", "x_near": "x_name"}
    found = put_back("x_name, x_near and x_names; x_food.", values)
    assert found.text == "Blue Spice, x_name and x_names; x_food."  # values are not looked into; others stay
    assert put_back("x_name", {}).text == "x_name"


def test_there_and_back() -> None:
    values = {"x_near": "Spice", "x_name": "Blue Spice"}
    text = "Near Spice there is Blue Spice, a pub."
    assert put_back(hide(text, values), values).text == text


@pytest.mark.parametrize("kind", [Word(split="punctuation"), Word(), Bpe(vocab_size=200)])
def test_a_placeholder_is_one_token_and_moves_with_its_value(kind: Word | Bpe) -> None:
    text = "x_name , said x_near ; x_name ."
    model = kind.train([text] * 5)
    tokens = model.tokens(text)
    found = put_back(text, {"x_name": "Blue Spice", "x_near": ""})
    moved = [found.token(token) for token in tokens]
    assert found.text == "Blue Spice , said  ; Blue Spice ."
    assert [token.text for token in moved] == ["Blue Spice", ",", "said", "", ";", "Blue Spice", ".", "</s>"]
    for token in moved[:-1]:
        assert found.text[token.start : token.end] == token.text
    assert (moved[-1].start, moved[-1].end) == (len(found.text), len(found.text))


def test_a_piece_of_a_placeholder_stands_where_the_value_does() -> None:
    found = put_back("a x_name b", {"x_name": "New York"})
    assert found.token(Token("x_", 2, 4)) == Token("x_", 2, 10)
    assert found.token(Token("name", 4, 8)) == Token("name", 2, 10)
    assert found.token(Token("b", 9, 10)) == Token("b", 11, 12)
    assert found.token(Token("<s>")) == Token("<s>")
    close = put_back("(x_name)", {"x_name": "Rome"})  # nothing between a sign and the value
    assert [close.token(Token(*t)) for t in (("(", 0, 1), ("x_name", 1, 7), (")", 7, 8))] == [
        Token("(", 0, 1),
        Token("Rome", 1, 5),
        Token(")", 5, 6),
    ]
