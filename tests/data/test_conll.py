"""CoNLL columns, and every way a line can be wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.data.conll import read_conll
from regard.errors import RegardError
from regard.types import Example


def text(content: str) -> list[str]:
    return content.split("\n")


def said(content: str, columns: int = 2, fields: tuple[str, ...] = ()) -> str:
    with pytest.raises(RegardError) as caught:
        read_conll("a.conll", text(content), columns, fields)
    assert "\n" not in str(caught.value)
    return str(caught.value)


CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP B-MISC
. . O O

-DOCSTART- -X- -X- O

Peter NNP B-NP B-PER
Blackburn NNP I-NP I-PER"""


def test_by_hand() -> None:
    assert read_conll("a", text(CONLL_2003)) == [
        Example(("EU rejects German .",), "B-ORG O B-MISC O", "a:3"),
        Example(("Peter Blackburn",), "B-PER I-PER", "a:10"),
    ]


def test_columns_by_number() -> None:
    first = read_conll("a", text(CONLL_2003), fields=("1", "2"))[0]
    assert (first.source, first.target) == ("EU rejects German .", "NNP VBZ JJ .")
    assert "a.conll:3: no column 5; expected 1 to 4" in said(CONLL_2003, fields=("1", "5"))
    assert "a.conll: columns token, tag; expected numbers" in said(CONLL_2003, fields=("token", "tag"))
    assert "expected numbers" in said(CONLL_2003, fields=("1", "0"))


@pytest.mark.parametrize("between", [" ", "\t", "   "])
@pytest.mark.parametrize("blank", ["", " ", "\t", "\n"])
def test_spaces_and_tabs(between: str, blank: str) -> None:
    content = f"a{between}X\nb{between}Y \n{blank}\nc{between}Z\t"
    begin = 4 + blank.count("\n")
    assert read_conll("f", text(content)) == [Example(("a b",), "X Y", "f:1"), Example(("c",), "Z", f"f:{begin}")]


def test_without_labels() -> None:
    assert read_conll("f", text("a\nb\n\nc"), columns=1) == [Example(("a b",), "", "f:1"), Example(("c",), "", "f:4")]
    assert read_conll("f", text("a X\nb Y"), columns=1) == [Example(("a b",), "", "f:1")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a X\n\nb", "a.conll:3: 1 column; expected a token and its label, separated by a space or a tab"),
        ("a X\nb Y Z", "a.conll:2: 3 columns; expected 2, as in line 1"),
        ("\na N X\nb X", "a.conll:3: 2 columns; expected 3, as in line 2"),
        ("New York\tB-LOC", "a.conll:1: 'New York'; expected one word without spaces"),
        ("a\u00a0b X", "a.conll:1: 'a\\xa0b'; expected one word"),
        ("\tX", "a.conll:1: ''; expected one word"),
        ("a\tB PER", "a.conll:1: 'B PER'; expected one word"),
        ("-DOCSTART- O", "a.conll: no token"),
    ],
)
def test_broken(content: str, message: str) -> None:
    assert message in said(content)


def test_an_empty_cell_between_is_still_a_column() -> None:
    assert read_conll("f", text("a\t\tX\nb\tN\tY")) == [Example(("a b",), "X Y", "f:1")]


words = st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=5).filter(lambda w: w[0] != "-")
sentences = st.lists(st.lists(st.tuples(words, words), min_size=1, max_size=4), min_size=1, max_size=4)


@given(sentences, st.sampled_from(" \t"))
def test_what_was_written_is_read(some: list[list[tuple[str, str]]], between: str) -> None:
    content = "\n\n".join("\n".join(between.join(row) for row in sentence) for sentence in some)
    found = read_conll("f", content.split("\n"))
    assert [list(zip(e.source.split(" "), e.target.split(" "), strict=True)) for e in found] == some
