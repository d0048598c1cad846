"""Text to write: ids with an end, kept, and refused where it is too long."""

import pytest

from regard.errors import RegardError
from regard.fields.tokens import Tokens, text_profile


@pytest.fixture
def tokens() -> Tokens:
    field = Tokens(tokenizer="word", max_length=3)
    field.fit(["a b", "b"])
    return field


def test_a_text_ends(tokens: Tokens) -> None:
    [two, one] = tokens.encode(["a b", "b"], ["", ""])
    assert (len(two), len(one), two[-1], one) == (3, 2, tokens.text.end, two[1:])
    assert tokens.collate([two, one]).lengths.tolist() == [3, 2]
    again = Tokens()
    again.restore(tokens.state())
    assert again.encode(["a b"], [""]) == [two]


def test_too_long_a_text(tokens: Tokens) -> None:
    with pytest.raises(RegardError) as told:
        tokens.encode(["a b a"], ["t.tsv:4"], "target")
    assert str(told.value) == (
        "t.tsv:4: 4 tokens in the target; expected at most 3; shorten it, or train with target.max_length=4"
    )


def test_a_profile_by_hand() -> None:
    """Five words, three different ones, of six letters; "cd ef" has five characters."""
    found = text_profile(["ab ab", "cd ef", "ab"])
    assert (found.length, found.distinct, found.letters, found.longest) == (5 / 3, 3, 6, 5)
