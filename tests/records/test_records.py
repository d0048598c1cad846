"""Fields: both forms read as one, what is written is read again, and mistakes are told with their place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.records import RecordField, mentions, parse, write

inside = st.text(st.characters(exclude_characters="[],{", exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def test_brackets() -> None:
    text = "name[The Vaults], customer rating[5 out of 5], near[Café, the old]"
    assert parse(text) == [("name", "The Vaults"), ("customer rating", "5 out of 5"), ("near", "Café, the old")]
    assert write(parse(text)) == text


def test_json() -> None:
    text = '{"name": "Zizzi", "stars": 5, "open": true, "late": false, "food": ["a", 1.5], "near": null, "x": ""}'
    assert write(parse(text)) == "name[Zizzi], stars[5], open[yes], late[no], food[a, 1.5]"


def test_json_that_brackets_could_not_hold() -> None:
    fields = parse(json.dumps({"a,[b]": "c [d]\n e"}))
    assert fields == [("a (b)", "c (d) e")]
    assert parse(write(fields)) == fields


@pytest.mark.parametrize("text", ["a[b]", " a [ b ] ", "a[b],", "a[b],c[]"])
def test_loosely_written(text: str) -> None:
    assert parse(text) == [("a", "b")]


@given(st.lists(st.tuples(inside, inside), min_size=1, max_size=4))
def test_what_is_written_is_read_again(pairs: list[tuple[str, str]]) -> None:
    fields = [RecordField(name.strip(), value.strip()) for name, value in pairs]
    assert parse(write(fields)) == fields


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no fields"),
        ("  ", "no fields"),
        ("a[]", "no fields"),
        ("{}", "no fields"),
        ("just words", "'just words' is not a field"),
        ("a[b] c[d]", r"'a\[b\] c\[d\]' is not a field"),
        ("a[b], c", "'c' is not a field"),
        ("[b]", r"'\[b\]' is not a field"),
        ("a[b[c]]", "is not a field"),
        ("a[b", "is not a field"),
        ('{"a": 1', "not JSON"),
        ('{"a": {"b": 1}}', r"'a' is \{"),
        ('{"": 1}', "without a name"),
    ],
)
def test_mistakes(text: str, said: str) -> None:
    with pytest.raises(RegardError, match=rf"^f\.csv:7: .*{said}|^f\.csv:7: {said}"):
        parse(text, "f.csv:7")


def test_long_nonsense_is_soon_told() -> None:
    for text in (" " * 50_000 + "x", "a" * 50_000, "[" * 50_000):
        with pytest.raises(RegardError):
            parse(text)


def test_mentions_are_whole_words_in_any_case() -> None:
    found = mentions("Café Rouge")
    assert found.search("by the CAFÉ\n rouge.")
    assert not found.search("CaféRouge")
    assert not mentions("pub").search("a public house")
    assert mentions("£20-25").search("(£20-25)")
