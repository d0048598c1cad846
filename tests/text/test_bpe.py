from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.regions import Token
from regard.text import bpe
from regard.text.bpe import Bpe

ALPHABET = "abcß \n\té\u0301<s>/.,😀שİ"


def test_by_hand() -> None:
    # Words ▁ab ×3, ▁b ×1: a-b is seen 3 times, as ▁-a is, and first in order; then ▁-ab, 3 times; ▁-b only once.
    text = Bpe(min_frequency=2).train(["ab ab ab b"])
    assert text.vocabulary[4:] == ["a", "b", "▁", "ab", "▁ab"]
    assert text.encode("ab b") == [8, 6, 5, 3]
    assert text.tokens("ab ab") == (Token("ab", 0, 2), Token("ab", 3, 5), Token("</s>", 5, 5))
    assert text.tokens("b b")[:2] == (Token("", 0, 0), Token("b", 0, 1))
    assert text.tokens(" ab")[:2] == (Token("", 0, 0), Token("ab", 1, 3))
    assert text.decode([8, 8, 7, 3]) == "ab abab"
    assert text.pieces([8, 8, 7, 3]) == (Token("ab", 0, 2), Token("ab", 3, 5), Token("ab", 5, 7), Token("</s>", 7, 7))


@given(st.text(ALPHABET))
def test_every_space_comes_back(written: str) -> None:
    text = Bpe(vocab_size=60, min_frequency=1).train([ALPHABET, "abc abc <s> ab."])
    assert text.decode(text.encode(written)) == written


def test_unknown_characters() -> None:
    text = Bpe(min_frequency=2).train(["aa bb c"])
    assert "c" not in text.vocabulary
    assert text.tokens("ac☃a")[:-1] == (
        Token("", 0, 0),
        Token("a", 0, 1),
        Token("c", 1, 2),
        Token("☃", 2, 3),
        Token("a", 3, 4),
    )
    assert text.decode(text.encode("ac☃a")) == "a<unk><unk>a"


def test_size_is_kept_by_leaving_out_the_rarest() -> None:
    letters = "".join(chr(0x4E00 + i) * (i + 1) for i in range(50))
    text = Bpe(vocab_size=24, min_frequency=1).train([letters])
    assert len(text) == 24
    assert text.vocabulary[4:] == ["▁", *(chr(0x4E00 + i) for i in range(31, 50))]


def test_the_order_of_texts_does_not_matter() -> None:
    texts = ["ab", "cd", "ef", "gh", "ba dc fe hg"]
    assert Bpe(vocab_size=10).train(texts).to_dict() == Bpe(vocab_size=10).train(texts[::-1]).to_dict()


def test_rare_letters_are_not_taken_for_a_pattern() -> None:
    text = Bpe(min_frequency=2).train(["aa]^-\\[b aab"])
    assert not set("]^-\\[") & set(text.vocabulary)
    assert text.decode(text.encode("aab")) == "aab"


def test_words_and_signs_do_not_merge() -> None:
    text = Bpe().train(["end. end. end. end..."])
    assert "▁end" in text.vocabulary
    assert not any("d." in piece for piece in text.vocabulary)


def test_typed_specials_that_were_merged_are_still_text() -> None:
    text = Bpe().train(["x<s>y x<s>y <s> </s> </s> </s>"] * 9)
    assert not {0, 2, 3} & set(text.encode("x<s>y <s> </s>")[:-1])
    assert text.decode(text.encode("x<s>y </s>")) == "x<s>y </s>"


def test_a_word_without_end_is_learned_from_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training takes a time that grows with the square of a word's length; the split for it is not kept."""
    seen: list[list[int]] = []
    learn = bpe.learn

    def watched(tokenizer: Any, trainer: Any, texts: Any) -> Any:
        seen.append([len(word) for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str("9" * 2_500)])
        return learn(tokenizer, trainer, texts)

    monkeypatch.setattr(bpe, "learn", watched)
    usual = Bpe(vocab_size=50).train(["eine Zahl, 1999", "und noch eine, 1999"])
    long = Bpe(vocab_size=50).train(["eine Zahl, 1999", "9" * 100_000])
    assert seen == [[2_500], [1_000, 1_000, 500]]
    for tokenizer in (usual, long):
        assert tokenizer.decode(tokenizer.encode("9" * 2_500)) == "9" * 2_500
        pieces = tokenizer.tokenizer.pre_tokenizer.pre_tokenize_str("9" * 2_500)
        assert [len(word) for word, _ in pieces] == [2_500]
