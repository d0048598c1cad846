"""A tokenizer from a stranger costs no more than its file, and splits texts as regard's own kinds do."""

import json
from copy import deepcopy
from typing import Any

import pytest

from regard.errors import RegardError
from regard.find import build, names
from regard.text import Tokenizer
from regard.text._forms import own, sound

table = build("text", "word").train(["one two", "two three"]).to_dict()
kinds: list[dict[str, Any]] = [
    {"name": name, "lower": lower, **more}
    for name in names("text")
    if name != "pretrained"  # tests/text/test_text_pretrained.py
    for lower in (False, True)
    for more in ([{"split": "space"}, {"split": "punctuation"}] if name == "word" else [{}])
]


def changed(change: Any) -> dict[str, Any]:
    other = deepcopy(table)
    change(other)
    return other


@pytest.mark.parametrize("kind", kinds, ids=lambda kind: " ".join(map(str, kind.values())))
def test_every_kind_of_text_is_one_of_its_own(kind: dict[str, Any]) -> None:
    made = json.loads(json.dumps(build("text", kind).train(["Yes, please. " * 5, "no"] * 3).to_dict()))
    sound(made)
    own("runs/x", made)
    assert Tokenizer.from_dict(made).decode(Tokenizer.from_dict(made).encode("no")) == "no"


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["model"]["vocab"].update(two=10**9),  # 3.8 GB, once
        lambda one: one["model"]["vocab"].update(two=-1),
        lambda one: one["model"]["vocab"].update(three=4),  # twice the same
        lambda one: one["model"]["vocab"].update(two="5"),
        lambda one: one["model"]["vocab"].update(two=5.5),
        lambda one: one["model"].update(vocab=["one", "two"]),
        lambda one: one["model"].pop("vocab"),
        lambda one: one.update(model=None),
        lambda one: one.pop("model"),
        lambda one: one.update(padding={"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_id": 0}),
        lambda one: one.update(truncation={"max_length": 1, "strategy": "LongestFirst", "stride": 0}),
        lambda one: one.update(added_tokens=[{"id": 4 * 10**9, "content": "x", "special": True}]),
    ],
)
def test_numbers_that_would_cost_memory_are_refused_before_they_are_used(
    change: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.text.BackendTokenizer", None)  # whoever would read it fails
    with pytest.raises(RegardError, match=r"a tokenizer with|a vocabulary with"):
        Tokenizer.from_dict(changed(change))


@pytest.mark.parametrize("other", [None, [], "text", 1])
def test_what_is_no_tokenizer_at_all(other: Any) -> None:
    with pytest.raises(RegardError, match="a tokenizer without a vocabulary"):
        Tokenizer.from_dict(other)


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.update(normalizer={"type": "Replace", "pattern": {"String": " "}, "content": "a book " * 1000}),
        lambda one: one.update(normalizer={"type": "Prepend", "prepend": "a book " * 1000}),
        lambda one: one.update(
            pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
        ),
        lambda one: one.update(decoder={"type": "Replace", "pattern": {"String": ""}, "content": "x" * 10**6}),
        lambda one: one.update(post_processor={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}),
        lambda one: one.pop("pre_tokenizer"),
    ],
)
def test_only_regards_own_ways_to_split_and_join(change: Any) -> None:
    own("runs/x", table)
    with pytest.raises(RegardError, match=r"^runs/x has a tokenizer that regard did not make.*--trust"):
        own("runs/x", changed(change))


def test_a_run_of_today_is_still_known_when_tokenizers_writes_its_files_otherwise() -> None:
    """If this fails after an upgrade, the form below has to be kept beside the new one."""
    split = {"type": "Split", "pattern": {"Regex": "▁?\\w+|▁?[^\\w▁]+|▁"}, "behavior": "Isolated", "invert": False}
    own(
        "runs/x",
        {
            "normalizer": {
                "type": "Sequence",
                "normalizers": [
                    {"type": "Prepend", "prepend": "▁"},
                    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
                ],
            },
            "pre_tokenizer": split,
            "post_processor": None,
            "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        },
    )
