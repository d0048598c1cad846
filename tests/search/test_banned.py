"""Banned words against every answer there is, for each kind of text; and by hand."""

import re

import pytest
import torch
from small_decoders import START, Hashed, memory_of

from regard.find import build
from regard.search import Constraints, Limits, compiled
from regard.search._banned import Banned
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.text import Tokenizer
from regard.text.bpe import Bpe
from regard.text.character import Character
from regard.text.word import Word

SPECIAL = (Tokenizer.pad, Tokenizer.unknown, Tokenizer.start)
KINDS = {
    "character": Character().train(["ab-a b"]),
    "bpe": Bpe(vocab_size=12).train(["ab ab ab abb (ab)"] * 9),
    "space": Word().train(["a ab b"]),
    "punctuation": Word(split="punctuation").train(["a ab, b (b"]),
}
BANS = [["a"], ["ab"], ["b", "ab"], ["a b"], ["a-b", "b-"], ["(ab)"], ["ab, a", "("], ["ab", "abb", "aab"]]


def holds(text: str, words: list[str]) -> bool:
    """A banned word as `re` knows whole words."""

    def whole(word: str) -> str:
        return (
            ("" if re.match(r"\W", word) else r"(?<!\w)") + re.escape(word) + (r"(?!\w)" if word[-1].isalnum() else "")
        )

    return any(re.search(whole(word), text) for word in words)


def found(how, text: Tokenizer, seed: int, length: int):
    decoder = Hashed(vocab=len(text), end=Tokenizer.end)
    more = {"start": START, "end": Tokenizer.end, "max_length": torch.tensor([length]), "banned": SPECIAL}
    return how(decoder, memory_of([seed]), **more)[0]


def test_the_kinds_spell_a_word_in_several_ways() -> None:
    assert {"▁ab", "ab", "b", "▁", "a"} <= set(KINDS["bpe"].vocabulary)
    assert {"ab", ",▁", "▁("} <= set(KINDS["punctuation"].vocabulary)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", BANS, ids="|".join)
def test_against_every_answer_there_is(kind: str, words: list[str]) -> None:
    text, length = KINDS[kind], 3 if len(KINDS[kind]) > 8 else 4
    limits = compiled(Constraints(banned=tuple(words)), text, Limits())
    for seed in (1, 2):
        every = Hashed(vocab=len(text), end=Tokenizer.end).everything(seed, length, SPECIAL)
        fine = {tokens: p for tokens, p in every.items() if not holds(text.decode(tokens), words)}
        beam = found(Beam(1000, 0.0, 1000, limits=limits), text, seed, length)
        assert {h.tokens for h in beam} == set(fine)
        [best] = found(Beam(1000, 0.0, limits=limits), text, seed, length)
        assert best.log_prob == pytest.approx(max(fine.values()))
        if len(fine) < len(every):
            assert limits.banned is not None
        [greedy] = found(Greedy(limits=limits), text, seed, length)
        assert greedy.tokens in fine


def test_at_least_one_ban_binds_in_every_kind() -> None:
    """Or the test above would show nothing."""
    for text in KINDS.values():
        every = Hashed(vocab=len(text), end=Tokenizer.end).everything(1, 3, SPECIAL)
        assert any(holds(text.decode(tokens), ["ab"]) for tokens in every)


def test_a_part_of_another_word_is_no_word() -> None:
    text = Bpe(vocab_size=60).train(["cat cat cat egory category, concat"] * 5)
    banned = Banned(["cat"], text)
    for fine in ("category", "concat", "egory"):
        assert not banned.breaks(text.encode(fine))
    for bad in ("cat", "egory cat", "cat, egory", "cat egory"):
        assert banned.breaks(text.encode(bad))
    letters = [text.vocabulary.index(piece) for piece in ("▁", "c", "a", "t")]
    assert banned.breaks([*letters, Tokenizer.end])  # the same word in other pieces
    assert not banned.breaks([*letters, text.vocabulary.index("e"), Tokenizer.end])


def test_states_are_few_and_rows_are_kept() -> None:
    text = KINDS["character"]
    banned = Banned(["ab"], text)
    state = torch.zeros(2, 3, dtype=torch.long)
    for token in text.encode("ab-a b" * 5)[:-1]:
        banned.mask(state, torch.tensor([False, True]))
        state = banned.after(state, torch.full((2, 3), token))
    assert len(banned._states) <= 8
    assert len(banned._rows) <= 16


def test_rows_are_kept_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forgetting them changes nothing but the time."""
    monkeypatch.setattr("regard.search._banned.MOST_ROWS", 1)
    test_against_every_answer_there_is("character", ["b", "ab"])


@pytest.mark.parametrize("name", ["greedy", "beam", "sample"])
def test_every_search_keeps_them_in_a_batch(name: str) -> None:
    text = KINDS["character"]
    how = build("search", name)
    how.limits = compiled(Constraints(banned=("a", "ab", "b")), text, Limits())
    decoder, seeds = Hashed(vocab=len(text), end=Tokenizer.end), list(range(40))
    lengths = torch.tensor([3 + seed % 4 for seed in seeds])
    every = how(decoder, memory_of(seeds), start=START, end=Tokenizer.end, max_length=lengths, banned=SPECIAL)
    texts = [text.decode(h.tokens) for [h, *_] in every]
    assert not any(holds(one, ["a", "ab", "b"]) for one in texts)
    assert len(set(texts)) > 5
