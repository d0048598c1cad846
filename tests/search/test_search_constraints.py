"""Constraints in the user's own text: what they compile to, how often, and what cannot be met is one line."""

import re
from typing import Any

import pytest
import torch
from small_decoders import START, Hashed, memory_of

from regard.errors import RegardError
from regard.search import Constraints, Limits, Rules, compiled
from regard.search._tree import Tree
from regard.search.beam import Beam
from regard.text import Tokenizer
from regard.text.bpe import Bpe
from regard.text.character import Character
from regard.text.word import Word

LETTERS = Character().train(["ab c"])
WORDS = Word().train(["New York is a city", "Newark is not", "no"])
SPECIAL = (Tokenizer.pad, Tokenizer.unknown, Tokenizer.start)


def limits(text: Tokenizer = WORDS, base: Limits | None = None, **given: Any) -> Limits:
    return compiled(Constraints.read(given), text, base or Limits())


def answers(made: Limits, text: Tokenizer, seed: int = 3, length: int = 4) -> dict[str, float]:
    """Every answer that a beam as wide as the space finds."""
    decoder = Hashed(vocab=len(text), end=Tokenizer.end)
    more = {"start": START, "end": Tokenizer.end, "max_length": torch.tensor([length]), "banned": SPECIAL}
    [found] = Beam(1000, 0.0, 1000, limits=made)(decoder, memory_of([seed]), **more)
    return {text.decode(h.tokens) + "…" * (h.tokens[-1] != Tokenizer.end): h.log_prob for h in found}


@pytest.mark.parametrize(
    "given",
    [
        {"banned": ["ab"]},
        {"prefix": "a", "banned": ["ab", "ac"]},
        {"min_length": 2, "banned": ["b"]},
        {"no_repeat_ngram": 1, "banned": ["c"], "prefix": "b"},
        {"allowed": ["ab", "a b", "cab", "ba", "", "aaa"]},
        {"allowed": ["ab", "a b", "cab", "ba", "b c"], "banned": ["b"]},
        {"allowed": ["ab", "a b", "cab", "ba", "aaa"], "prefix": "a", "no_repeat_ngram": 1},
        {"allowed": ["ab", "a b", "aaa", "a"], "prefix": "a", "min_length": 3, "banned": ["b"]},
    ],
)
def test_the_beam_finds_the_best_answer_that_keeps_them(given: dict[str, Any]) -> None:
    """Against all answers there are, judged as text."""
    every = {
        LETTERS.decode(tokens) + "…" * (tokens[-1] != Tokenizer.end): p
        for tokens, p in Hashed(vocab=len(LETTERS), end=Tokenizer.end).everything(3, 4, SPECIAL).items()
    }

    def fine(answer: str) -> bool:
        text, n = answer.removesuffix("…"), given.get("no_repeat_ngram")
        return (
            ("allowed" not in given or answer in given["allowed"])
            and text.startswith(given.get("prefix", ""))
            and not any(re.search(rf"(?<!\w){word}(?!\w)", text) for word in given.get("banned", ()))
            and len(text) >= given.get("min_length", 0)
            and (not n or len(set(text)) == len(text))
        )

    expected = {answer: p for answer, p in every.items() if fine(answer)}
    assert 0 < len(expected) < len(every)
    assert answers(limits(LETTERS, **given), LETTERS) == pytest.approx(expected)


def test_texts_become_tokens() -> None:
    made = limits(prefix="New York", min_length=3)
    assert made.prefix == tuple(WORDS.encode("New York")[:-1])
    assert (made.min_length, made.no_repeat_ngram) == (3, 0)
    assert limits(base=Limits(min_length=5, no_repeat_ngram=2), min_length=0) == Limits(no_repeat_ngram=2)


def test_a_prefix_of_allowed_answers_is_of_their_text_not_of_their_tokens() -> None:
    text = Bpe(vocab_size=60).train(["yes yes yesterday yesterday no"] * 9)
    assert text.encode("yes")[:-1] != text.encode("yesterday")[: len(text.encode("yes")) - 1]
    assert set(answers(limits(text, allowed=["yes", "yesterday", "no"], prefix="yes"), text, length=9)) == {
        "yes",
        "yesterday",
    }


def test_in_lower_case_where_all_answers_are() -> None:
    text = Word(lower=True).train(["The Cat sat"])
    made = limits(text, banned=["CAT", "Cat"])
    assert made.banned.words == ("cat",)
    assert not any("cat" in answer for answer in answers(made, text))


def test_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 answers are tokenized once, and every search of them walks the same tree."""
    text, calls = Character().train(["0123456789"]), []
    encode = Tokenizer.encode_all
    monkeypatch.setattr(Tokenizer, "encode_all", lambda self, texts: calls.append(len(texts)) or encode(self, texts))

    def fresh() -> Limits:
        return limits(text, allowed=[str(number) for number in range(20_000)])

    first = fresh()
    assert isinstance(first.allowed, Tree)
    rules = [
        Rules(made, start=START, end=Tokenizer.end, max_length=torch.tensor([9])) for made in (first, fresh(), fresh())
    ]
    assert calls == [20_000]
    assert all(one.tree is first.allowed for one in rules)
    assert limits(text, allowed=["1"]).allowed is not first.allowed
    assert limits(text, base=first, no_repeat_ngram=0).allowed is first.allowed


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"prefix": "Old York"}, "prefix 'Old York': 'Old' is not in the target vocabulary; use other words"),
        ({"allowed": ["no", "not sure"]}, "allowed answer 'not sure': 'sure' is not in the target vocabulary"),
        ({"allowed": ["no", "not"], "prefix": "New"}, "prefix 'New': no allowed answer begins with it"),
        ({"allowed": ["no", "not no"], "banned": ["no"]}, "every allowed answer contains a banned word ('no')"),
        ({"allowed": ["no"], "min_length": 2}, "none of 1 allowed answers can come out"),
        ({"prefix": "New York is", "banned": ["New York"]}, "prefix 'New York is' contains a banned word"),
        ({"allowed": []}, "allowed: no answers; expected at least one"),
        ({"allowed": "no"}, "allowed='no'; expected a list of texts"),
        ({"banned": "no"}, "banned='no'; expected a list of texts"),
        ({"banned": [3]}, "banned=[3]; expected a list of texts"),
        ({"banned": ["no", " "]}, "banned: an empty word"),
        ({"banned": ["no" * 101]}, "banned: a word of 202 characters; expected at most 200"),
        ({"prefix": ["no"]}, "prefix=['no']; expected a text"),
        ({"min_length": -1}, "min_length: got -1; expected a whole number from 0"),
        ({"min_length": "3"}, "min_length='3'; expected a whole number"),
        ({"no_repeat_ngram": True}, "no_repeat_ngram=True; expected a whole number"),
    ],
)
def test_what_cannot_be(given: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError) as error:
        limits(**given)
    assert str(error.value).startswith(said)


def test_taken_from_the_options_of_a_prediction() -> None:
    assert Constraints.taken_from({"beam_size": 3}) == (None, {"beam_size": 3})
    given, rest = Constraints.taken_from({"beam_size": 3, "banned": ["no"]})
    assert (given, rest) == (Constraints(banned=("no",)), {"beam_size": 3})
