"""Tokenizers of pre-trained models: their special tokens and segments, exact offsets, what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as BackendTokenizer
from tokenizers import decoders, models, pre_tokenizers, processors

from regard.errors import RegardError
from regard.regions import Token
from regard.text import Tokenizer
from regard.text.pretrained import Framed, Pretrained
from small_encoders import encoder_folder, tokenizer


def table() -> dict[str, Any]:
    return json.loads(tokenizer().to_str())  # type: ignore[no-any-return]


def roberta() -> dict[str, Any]:
    """Byte-level BPE, two tokens between two texts, no segments."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    names = ["<s>", "<pad>", "</s>", "<unk>", *letters]
    made = BackendTokenizer(models.BPE({name: n for n, name in enumerate(names)}, [], unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    made.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>"])
    return json.loads(made.to_str())  # type: ignore[no-any-return]


def test_a_text_stands_between_the_special_tokens_of_its_model() -> None:
    text = Framed(table())
    assert text.encode("a dog") == [2, 5, 8, 3]
    said = "The  dögs, RUNS!"
    ids, (tokens,) = text.read_all([said])
    # [UNK] stands for "!", and pieces are the reader's own characters at their places.
    assert [text.vocabulary[one] for one in ids[0]] == ["[CLS]", "the", "dog", "##s", ",", "runs", "[UNK]", "[SEP]"]
    assert tokens[0] == Token("[CLS]", 0, 0)
    assert tokens[-1] == Token("[SEP]", len(said), len(said))
    assert [one.text for one in tokens[1:-1]] == ["The", "dög", "s", ",", "RUNS", "!"]
    assert all(said[one.start : one.end] == one.text for one in tokens[1:-1])


def test_pairs_are_joined_as_the_tokenizer_joins_them() -> None:
    for made in (table(), roberta()):
        text, plain = Framed(made), BackendTokenizer.from_str(json.dumps({**made, "truncation": None, "padding": None}))
        for one, other in (("a dog runs", "the cat"), ("a", "a a a"), ("the film", "good")):
            want = plain.encode(one, other)
            assert text.join(text.encode(one), text.encode(other)) == (want.ids, want.type_ids)
            regions, second = text.joined_tokens(text.tokens(one), text.tokens(other))
            assert len(regions) == len(want.ids)
            assert second == want.sequence_ids.index(1)
            assert regions[second].text == other.split()[0][: len(regions[second].text)]


def test_special_tokens_in_a_text_are_characters() -> None:
    text = Framed(table())
    assert [text.vocabulary[one] for one in text.encode("a [SEP] dog")] == [
        *("[CLS]", "a", "[", "[UNK]", "]", "dog", "[SEP]")
    ]


def test_spaces_before_a_word_are_not_shown() -> None:
    tokens = Framed(roberta()).tokens("a é")
    assert [one.text for one in tokens] == ["<s>", "a", "", "é", "é", "</s>"]  # é is two bytes, each of which is it
    assert [(one.start, one.end) for one in tokens] == [(0, 0), (0, 1), (2, 2), (2, 3), (2, 3), (3, 3)]


def test_truncation_and_padding_of_its_authors_are_left_out() -> None:
    assert len(Framed(table()).encode("a dog " * 10)) == 22


def test_it_is_kept_in_a_run_and_needs_no_folder(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    text = Pretrained(from_=str(folder)).train([])
    kept = json.loads(json.dumps(text.to_dict()))
    again = Tokenizer.from_dict(kept)
    assert isinstance(again, Framed)
    assert again.architecture is not None
    assert again.read_all(["a dogs [SEP]"]) == text.read_all(["a dogs [SEP]"])


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    made = table()
    change(made)
    return made


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one["model"]["vocab"].update(a=10**9), "a token id of 1000000000"),
        (lambda one: one["model"]["vocab"].update(a="5"), "a token id of '5'"),
        (lambda one: one["model"]["vocab"].update(a=6), "duplicate ids"),
        (lambda one: one.update(added_tokens=[{"id": -1, "content": "x"}]), "a token id of -1"),
        (lambda one: one.pop("model"), "without a vocabulary"),
        (
            lambda one: one.update(pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+b"}}),
            "its pre tokenizer is 'Split'",
        ),
        (
            lambda one: one.update(normalizer={"type": "Sequence", "normalizers": [{"type": "Replace"}]}),
            "its normalizer is 'Replace'",
        ),
        (lambda one: one["model"].update(type="Magic"), "of the kind 'Magic'"),
        (lambda one: one["model"].update(unk_token="<none>"), "cannot read the tokenizer"),
        (lambda one: one["post_processor"].update(single=[{"SpecialToken": {"id": "x"}}]), "cannot read the tokenizer"),
    ],
)
def test_what_would_cost_too_much_or_holds_a_pattern_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps(changed(change)))
    with pytest.raises(RegardError, match=message):
        Pretrained(from_=str(tmp_path / "tokenizer.json")).train([])


def test_a_tokenizer_that_does_not_fit_the_embedding_is_refused(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in", vocab_size=19)
    with pytest.raises(RegardError, match="ids up to 19 for an embedding of 19 rows"):
        Pretrained(from_=str(folder)).train([])


def test_a_folder_without_a_tokenizer_says_how_to_get_one(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(RegardError, match=r"has no tokenizer\.json; write one"):
        Pretrained(from_=str(folder)).train([])
    with pytest.raises(RegardError, match=r"'elsewhere' is not a folder.*hf:elsewhere"):
        Pretrained(from_="elsewhere").train([])
