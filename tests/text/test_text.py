"""What every kind of text promises: the way there and back, and offsets into the reader's own characters."""

import hashlib
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as BackendTokenizer
from tokenizers import models

from regard.errors import RegardError
from regard.find import build, names
from regard.regions import Token
from regard.text import Tokenizer
from tiers import tries

SAMPLES = [
    "the cat sat on the mat",
    "The cat, the (old) cat's hat!",
    "",
    " leading and trailing ",
    "two  spaces",
    "line\nbreak\r\n\ttab",
    "naïve e\u0301le\u0300ve Straße İstanbul ΑΣ ﬁ",
    "שלום עולם مرحبا",
    "👨‍👩‍👧 🇨🇭 family",
    "NUL \x00 and \x85 and \u2028 end",
    "<s> <pad> </s> <unk> < s > x<s>y",
    "猫が好き",
]
KINDS = [
    {"name": "character"},
    {"name": "character", "lower": True, "min_frequency": 2},
    {"name": "word"},
    {"name": "word", "lower": True, "vocab_size": 12},
    {"name": "word", "split": "punctuation"},
    {"name": "bpe", "min_frequency": 1},
    {"name": "bpe", "lower": True, "vocab_size": 30},
]


def trained(kind: dict[str, Any]) -> Tokenizer:
    return build("text", kind).train(SAMPLES * 2)  # type: ignore[no-any-return]


TEXTS = {json.dumps(kind): trained(kind) for kind in KINDS}
every = pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))


def test_kinds() -> None:
    assert names("text") == ["bpe", "character", "pretrained", "word"]
    assert (Tokenizer.pad, Tokenizer.unknown, Tokenizer.start, Tokenizer.end) == (
        0,
        1,
        2,
        3,
    )


@every
@pytest.mark.parametrize("sample", [*SAMPLES, "ZÄ☃ never seen ☃", "a" * 50_000, "\ud83d broken \udc00"])
def test_tokens_belong_to_numbers(text: Tokenizer, sample: str) -> None:
    ids, tokens = text.encode(sample), text.tokens(sample)
    assert len(ids) == len(tokens)
    assert ids[-1] == text.end
    assert tokens[-1] == Token("</s>", len(sample), len(sample))
    assert all(0 <= token.start <= token.end <= len(sample) for token in tokens)
    assert all(token.text == sample[token.start : token.end] for token in tokens[:-1])
    starts = [token.start for token in tokens]
    assert starts == sorted(starts)
    covered = {place for token in tokens for place in range(token.start, token.end)}
    assert all(sample[place].isspace() for place in set(range(len(sample))) - covered)


@every
@pytest.mark.parametrize("sample", SAMPLES)
def test_text_is_never_taken_for_a_special(text: Tokenizer, sample: str) -> None:
    assert not {text.pad, text.start, text.end} & set(text.encode(sample)[:-1])
    assert not {text.pad, text.start, text.end} & {i for row in text.encode_all([sample]) for i in row[:-1]}


@every
def test_all_at_once_is_the_same(text: Tokenizer) -> None:
    many = [*SAMPLES, "\ud800"] * 700  # more than one round
    assert text.encode_all(many) == [text.encode(one) for one in [*SAMPLES, "\ud800"]] * 700
    assert text.encode_all([]) == []


@every
@given(data=st.data())
@settings(deadline=None, max_examples=tries(40))
def test_pieces_stand_in_what_is_decoded(text: Tokenizer, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, len(text) - 1), max_size=12))
    written, pieces = text.decode(ids), text.pieces(ids)
    assert len(pieces) == len(ids)
    over = False
    for number, piece in zip(ids, pieces, strict=True):
        over = over or number == text.end
        if over or number in (text.pad, text.start):
            assert piece.start == piece.end
            assert piece.text in text.seen
        else:
            assert written[piece.start : piece.end] == piece.text
    # tokenizers itself writes the same
    upto = ids[: ids.index(text.end)] if text.end in ids else ids
    said = [number for number in upto if number not in (text.pad, text.start)]
    if text.unknown not in said:
        assert text.tokenizer.decode(said, skip_special_tokens=False) == written


@every
def test_saved_and_read_again(text: Tokenizer) -> None:
    table = json.loads(json.dumps(text.to_dict()))
    again = Tokenizer.from_dict(table)
    assert again.to_dict() == table
    assert len(again) == len(text)
    assert again.encode_all(SAMPLES) == text.encode_all(SAMPLES)
    assert again.decode(text.encode(SAMPLES[1])) == text.decode(text.encode(SAMPLES[1]))
    assert again.tokens(SAMPLES[1]) == text.tokens(SAMPLES[1])


@pytest.mark.sweep
def test_trained_twice_is_the_same_in_another_process() -> None:
    code = (
        "import hashlib, json, sys; from regard.find import build; kinds, texts = json.load(sys.stdin)\n"
        "tables = [build('text', kind).train(texts).to_dict() for kind in kinds]\n"
        "print(hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest())"
    )
    # Many ties: every word twice.
    texts = [f"{a}{b} {b}{a}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "xyzäöü"]
    kinds = [*KINDS, {"name": "bpe", "vocab_size": 90}]
    here = [build("text", kind).train(texts).to_dict() for kind in kinds]
    there = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([kinds, texts]),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "3"},
    )
    assert there.stdout.strip() == hashlib.sha256(json.dumps(here, sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("name", ["character", "word", "bpe"])
def test_no_texts_at_all(name: str) -> None:
    text = build("text", name).train([])
    assert set(text.encode("ab c")) - {text.tokenizer.token_to_id("▁")} == {
        Tokenizer.unknown,
        Tokenizer.end,
    }
    assert text.encode("") == [Tokenizer.end]
    assert text.decode([]) == ""


def test_foreign_tokenizers_are_refused() -> None:
    with pytest.raises(RegardError, match="first tokens are"):
        Tokenizer(BackendTokenizer(models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>")))
    with pytest.raises(RegardError, match="without a vocabulary"):
        Tokenizer.from_dict({"model": 3})
    table = build("text", "word").train(["a b"]).to_dict()
    for unknown in ("x", "a"):  # tokenizers would raise, or take what it does not know for a known word
        with pytest.raises(RegardError, match=f"unknown token is {unknown!r}"):
            Tokenizer.from_dict({**table, "model": {**table["model"], "unk_token": unknown}})


@pytest.mark.parametrize("number", [-1, 10**6])
def test_numbers_outside_are_refused(number: int) -> None:
    with pytest.raises(RegardError, match="token id"):
        TEXTS[json.dumps(KINDS[0])].decode([number])


@pytest.mark.parametrize(
    "kind",
    [
        {"name": "word", "vocab_size": 4},
        {"name": "bpe", "vocab_size": 5},
        {"name": "character", "min_frequency": 0},
        {"name": "bpe", "min_frequency": 0},
    ],
)
def test_sizes_that_cannot_be(kind: dict[str, Any]) -> None:
    with pytest.raises(RegardError, match="expected a whole number from"):
        build("text", kind)


@pytest.mark.parametrize("kind", [name for name in names("text") if name != "pretrained"])
def test_tokens_of_many_texts_are_those_of_each(kind: str) -> None:
    texts = ["a man sleeps", "", " a  dog, runs", "\ud800x <s>"]
    text = build("text", kind).train(["a dog sleeps", "a man runs, a dog runs"])
    assert text.tokens_all(texts) == [text.tokens(one) for one in texts]
    assert text.read_all(texts) == (text.encode_all(texts), text.tokens_all(texts))
