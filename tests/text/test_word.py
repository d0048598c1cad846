from hypothesis import given
from hypothesis import strategies as st

from regard.regions import Token
from regard.text.word import Word


def test_by_hand() -> None:
    text = Word().train(["b a b", "c"])  # b 2; a and c 1
    assert text.vocabulary[4:] == ["b", "a", "c"]
    assert text.encode("c  b\nd") == [6, 4, 1, 3]
    assert text.tokens("c  b\nd") == (Token("c", 0, 1), Token("b", 3, 4), Token("d", 5, 6), Token("</s>", 6, 6))
    assert text.decode([6, 4, 1, 3, 4]) == "c b <unk>"
    assert text.pieces([6, 4, 3]) == (Token("c", 0, 1), Token("b", 2, 3), Token("</s>", 3, 3))


def test_size_and_least() -> None:
    counted = ["a a a b b c"]
    assert Word(vocab_size=6).train(counted).vocabulary[4:] == ["a", "b"]
    assert Word(min_frequency=3).train(counted).vocabulary[4:] == ["a"]


def test_a_word_is_one_piece_wherever_it_stands() -> None:
    text = Word(split="punctuation").train(["cat cat, (cat)"])
    assert text.vocabulary[4:] == ["cat", "(", ")", ",▁"]
    assert text.unknown not in text.encode("cat, cat cat)")


def test_signs_apart_and_back_in_place() -> None:
    text = Word(split="punctuation").train(["He said (twice), it's twenty-two. She said, a (b)."])
    assert [token.text for token in text.tokens("He said (twice), it's.")] == (
        ["He", "said", "(", "twice", ")", ",", "it", "'", "s", ".", "</s>"]
    )
    assert text.decode(text.encode("He said, it's (twenty-two).")) == "He said, it's (twenty-two)."
    assert text.pieces(text.encode("He said."))[1:3] == (Token("said", 3, 7), Token(".", 7, 8))


WORDS = ["a", "(a", "a.", "<s>", "</s>", "<unk>", "it's", "e\u0301", "😀", "שלום"]


@given(words=st.lists(st.sampled_from(WORDS)))
def test_known_words_come_back(words: list[str]) -> None:
    text = Word().train(WORDS)
    assert text.decode(text.encode(" ".join(words))) == " ".join(words)


def test_a_word_typed_like_a_special_is_a_word() -> None:
    text = Word().train(["<unk> <s> x"])
    assert sorted(text.encode("<unk> <s>")) == [3, 4, 5]
    assert text.decode(text.encode("<s> <unk>")) == "<s> <unk>"


def test_case_is_folded_but_shown_as_typed() -> None:
    text = Word(lower=True).train(["Cat"])
    assert text.vocabulary[4:] == ["cat"]
    assert text.tokens("CAT")[0] == Token("CAT", 0, 3)


@given(st.text(" ab.,(é\n_1▁"))
def test_signs_apart_gives_back_any_spaces(written: str) -> None:
    text = Word(split="punctuation").train([written])
    assert text.decode(text.encode(written)) == written.replace("▁", " ")
