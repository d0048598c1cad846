"""Headers are recognised, and examples are not taken for one."""

from random import Random

import pytest
from text_columns import text_columns

from regard.data.header import find, is_header
from regard.fields import Field
from regard.fields.label import Label
from regard.fields.number import Number
from regard.fields.tags import Tags
from regard.fields.text import Text
from regard.fields.tokens import Tokens

random = Random(0)
text = Text(end=True)
words = ("ein", "mann", "schläft", "im", "park", "und", "zwei", "hunde", "laufen", "über", "die", "straße")
fields: dict[str, tuple[Field, ...]] = {
    "classify": (text, Label()),
    "entail": (text, text, Label()),
    "relate": (text, text, Number(1, 5)),
    "translate": (text, Tokens()),
    "tag": (text, Tags()),
    "language": (text,),
}


def sentence() -> str:
    return " ".join(random.choices(words, k=8))


def table(kind: str, rows: int = 20) -> list[list[str]]:
    last = {
        "classify": lambda n: "ab"[n % 2],
        "entail": lambda n: "yn"[n % 2],
        "relate": lambda n: f"{n % 5 / 2:.1f}",
        "translate": lambda n: sentence(),
        "tag": lambda n: " ".join(random.choices("OBI", k=8)),
    }
    inputs = len(fields[kind]) - 1 or 1
    return [[*(sentence() for _ in range(inputs)), *([last[kind](n)] if kind in last else [])] for n in range(rows)]


@pytest.mark.parametrize(
    ("kind", "header", "rows"),
    [
        ("classify", ["Review", "Sentiment"], 1),
        ("classify", ["text", "label"], 0),
        ("classify", ["Comment Text", "is-spam"], 3),
        ("classify", ["Meinung", "Stimmung"], 20),
        ("entail", ["Premise", "Hypothesis", "Label"], 1),
        ("entail", ["p", "h", "l"], 20),
        ("relate", ["one", "two", "points"], 20),
        ("translate", ["de", "en"], 3),
        ("translate", ["German", "English"], 3),
        ("translate", ["src", "tgt"], 1),
        ("tag", ["tokens", "ner_tags"], 3),
    ],
)
def test_headers(kind: str, header: list[str], rows: int) -> None:
    assert is_header([header, *table(kind, rows)], fields[kind])


@pytest.mark.parametrize("kind", fields)
def test_no_example_is_a_header(kind: str) -> None:
    for _ in range(50):
        assert not is_header(table(kind), fields[kind])


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("classify", [["label", "text"], ["a", "text"]]),  # words that occur again
        ("classify", [["good", "4"], *([f"text number {n}", "3"] for n in range(20))]),
        ("classify", [["a long first text about a film", "seldom"], *table("classify")]),
        ("translate", [["no", "is"], *([f"a{n}", "to"] for n in range(20))]),  # short words in a list of short words
        ("translate", [["Hund", "dog"], ["Katze", "cat"]]),
        ("relate", [["4", "5", "3"], *table("relate")]),
    ],
)
def test_odd_first_examples(kind: str, rows: list[list[str]]) -> None:
    assert not is_header(rows, fields[kind])


def test_columns_by_their_names() -> None:
    assert find(["id", "Sentiment", "Review", "Date"], fields["classify"]) == (2, 1)
    assert find(["label", "text", "label_text"], fields["classify"]) == (1, 0)
    assert find(["hypothesis", "premise", "gold_label"], fields["entail"]) == (1, 0, 2)
    assert find(["id", "de", "en"], fields["translate"]) == (1, 2)
    assert find(["target", "source"], fields["translate"]) == (1, 0)
    assert find(["a", "b"], fields["classify"]) == ()
    assert find(["a", "b", "label"], fields["entail"]) == ()
    assert find(["x", "y"], fields["classify"], [("y", "x")]) == (1, 0)
    assert find(["a", "Stars"], fields["classify"], named=("a", "")) == (0, 1)
    assert find(["a", "b"], fields["classify"], named=("b", "")) == (1, 0)  # the other one is left
    assert find(["a", "b", "c"], fields["classify"], named=("b", "")) == ()
    assert find(["source", "target"], text_columns(2)) == (0, 1)
