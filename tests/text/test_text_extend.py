"""Words added to a vocabulary: at its end, in order, none twice, and nothing else changes."""

import json

import pytest

from regard.errors import RegardError
from regard.find import build
from regard.text import Tokenizer, special
from regard.text.word import Word

SAID = ["b a, b (a)."]


def test_by_hand() -> None:
    text = Word().train(["b a b"])
    more = text.extend(["c", "a", "d", "c", "< s >"])
    assert more.vocabulary == [*special, "b", "a", "c", "d"]
    assert more.encode("d e c") == [7, 1, 6, 3]
    assert more.decode([4, 7, 6, 3]) == "b d c"
    assert text.vocabulary == [*special, "b", "a"]  # the old one is as it was
    assert text.encode("d") == [1, 3]


@pytest.mark.parametrize("split", ["space", "punctuation"])
@pytest.mark.parametrize("lower", [False, True])
def test_saved_and_read_again(split: str, lower: bool) -> None:
    text = build("text", {"name": "word", "split": split, "lower": lower}).train(SAID)
    more = text.extend(["!", "straße", "été", "😀", "Straße"])
    again = Tokenizer.from_dict(json.loads(json.dumps(more.to_dict())))
    assert again.vocabulary == more.vocabulary == [*text.vocabulary, "!", "straße", "été", "😀", "Straße"]
    assert again.to_dict() == more.to_dict()
    for written in [*SAID, "straße b", "b! été", "unseen a"]:
        assert again.encode(written) == more.encode(written)
        assert again.tokens(written) == more.tokens(written)
    assert more.decode(more.encode("straße été b")) == "straße été b"
    assert more.encode(SAID[0]) == text.encode(SAID[0])
    assert {k: v for k, v in more.to_dict().items() if k != "model"} == (
        {k: v for k, v in text.to_dict().items() if k != "model"}
    )


def test_nothing_to_add() -> None:
    text = Word().train(SAID)
    assert text.extend([]).to_dict() == text.to_dict()
    assert Word().train([]).extend(["a"]).encode("a b") == [4, 1, 3]


def test_half_a_surrogate_pair_is_no_character() -> None:
    assert Word().train(SAID).extend(["x\ud800"]).vocabulary[-1] == "x\ufffd"


@pytest.mark.parametrize("kind", ["character", "bpe"])
def test_only_for_whole_words(kind: str) -> None:
    with pytest.raises(RegardError, match="characters or subwords"):
        build("text", kind).train(SAID).extend(["cat"])


def test_an_empty_word_is_refused() -> None:
    with pytest.raises(RegardError, match="an empty word"):
        Word().train(SAID).extend(["cat", ""])
