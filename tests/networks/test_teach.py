"""Teaching: how often the truth is shown, what a disturbed source keeps, and what a decoder is shown instead."""

import json
from typing import Any

import pytest
import torch
from torch import Tensor

from generation_tasks import sides
from regard import api
from regard.errors import RegardError
from regard.networks.teach import Teach, disturbed, truth
from regard.text import Tokenizer
from regard.types import Look, Memory, Sequences


@pytest.mark.parametrize("sampling", ["linear", "exponential", "inverse"])
def test_the_truth_falls_from_always_to_the_least(sampling: Any) -> None:
    chances = [truth(sampling, 0.25, p / 10) for p in range(11)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] == pytest.approx(1.0)
    assert chances[-1] == pytest.approx(0.25)


def test_numbers_by_hand() -> None:
    assert truth("none", 0.25, 0.7) == 1.0
    assert truth("linear", 0.25, 0.5) == pytest.approx(0.625)  # 1 − ¾ · ½
    assert truth("exponential", 0.25, 0.5) == pytest.approx(0.5)  # √¼
    assert truth("inverse", 0.25, 0.5) == pytest.approx(0.625)  # the middle, where the sigmoid is half way


def words(count: int = 400) -> Sequences:
    return Sequences.pad([[*range(4, 4 + n), Tokenizer.end] for n in [count, count // 2, 0]])


def test_replaced_words_stay_where_they_are() -> None:
    torch.manual_seed(1)
    source = words()
    found = disturbed(source, 1000, 0.0, 0.25, 0.0)
    changed = (found.values != source.values)[source.mask]
    assert 0.15 < changed.float().mean() < 0.35
    assert torch.equal(found.mask, source.mask)
    assert ((found.values == Tokenizer.end) == (source.values == Tokenizer.end)).all()
    assert (found.values[found.mask] >= Tokenizer.end).all()


def test_moved_words_move_three_places_at_most() -> None:
    torch.manual_seed(1)
    source = words()
    found = disturbed(source, 1000, 0.0, 0.0, 0.5)
    for row, length in enumerate(source.lengths.tolist()):
        seen = found.values[row, : length - 1]
        assert sorted(seen.tolist()) == source.values[row, : length - 1].tolist()
        # Three others pass a word at most, on their way or on its own.
        assert ((seen - source.values[row, : length - 1]).abs() <= 3).all()
        assert found.values[row, length - 1] == Tokenizer.end
    assert not torch.equal(found.values, source.values)


def test_dropped_words_are_gone_and_the_end_stays() -> None:
    torch.manual_seed(1)
    source = words()
    found = disturbed(source, 1000, 0.4, 0.0, 0.0)
    assert found.lengths.tolist() == found.mask.sum(-1).tolist()
    for row, length in enumerate(found.lengths.tolist()):
        kept = found.values[row, :length].tolist()
        assert kept[-1] == Tokenizer.end
        assert kept[:-1] == sorted(kept[:-1])
        assert set(kept) <= set(source.values[row].tolist())
        assert not found.values[row, length:].any()
    assert 0.5 < found.lengths[0] / source.lengths[0] < 0.7
    one = disturbed(Sequences.pad([[9, Tokenizer.end]]), 1000, 0.99, 0.0, 0.0)
    assert one.values.tolist() == [[9, Tokenizer.end]]  # never nothing at all


class Echo:
    """Says token + 1 after whatever it is shown, and remembers what that was."""

    def __init__(self, parallel: bool) -> None:
        self.parallel = parallel
        self.shown: list[Tensor] = []

    def start(self, memory: Memory) -> int:
        return 0

    def _say(self, tokens: Tensor) -> Tensor:
        return torch.nn.functional.one_hot(tokens + 1, 50).float()

    def _look(self, tokens: Tensor) -> Look:
        """What was shown, as if it were where the decoder looked."""
        seen = tokens.unsqueeze(-1).float()
        return Look(seen, compute_weights=lambda: seen)

    def step(self, state: int, token: Tensor) -> Any:
        self.shown.append(token)
        return state + 1, self._look(token), self._say(token)

    def unroll(self, memory: Memory, tokens: Tensor) -> Any:
        self.shown.append(tokens)
        return self._look(tokens), self._say(tokens)


memory = Memory(torch.zeros(64, 1, 1), torch.zeros(64, 1, 1))
before = torch.tensor([[Tokenizer.start, 20, 10, 30, Tokenizer.pad]]).repeat(64, 1)


@pytest.mark.parametrize("parallel", [True, False])
def test_what_the_model_said_is_shown_in_place_of_the_truth(parallel: bool) -> None:
    torch.manual_seed(1)
    echo = Echo(parallel)
    look, logits, notes = Teach(scheduled_sampling="linear", min_truth=0.5).unroll(echo, memory, before, 1.0)
    shown = echo.shown[-1] if parallel else torch.cat(echo.shown, 1)
    assert notes == {"truth": 0.5}
    assert torch.equal(logits, echo._say(shown))
    assert torch.equal(look.weights, echo._look(shown).weights)  # of the second pass, or of all the steps
    assert torch.equal(look.context, echo._look(shown).context)
    assert (shown[:, 0] == Tokenizer.start).all()
    assert (shown[:, 4] == Tokenizer.pad).all()
    if parallel:  # the first pass read the truth
        own = torch.tensor([Tokenizer.start, Tokenizer.start + 1, 21, 11, Tokenizer.pad])
        assert torch.equal(echo.shown[0], before)
    else:  # each step follows what was shown before it
        own = shown[:, :-1] + 1
        own = torch.cat([shown[:, :1], own], 1)
    true = shown == before
    assert (true | (shown == own)).all()
    assert 0.3 < true[:, 1:4].float().mean() < 0.7


def test_plain_forcing_shows_the_truth_once() -> None:
    echo = Echo(True)
    look, logits, notes = Teach().unroll(echo, memory, before, 0.9)
    assert notes == {}
    assert len(echo.shown) == 1
    assert torch.equal(echo.shown[0], before)
    assert torch.equal(logits, echo._say(before))
    assert torch.equal(look.weights, echo._look(before).weights)


def test_blanked_words_are_unknown() -> None:
    torch.manual_seed(1)
    echo = Echo(True)
    Teach(word_dropout=0.5).unroll(echo, memory, before, 0.0)
    shown = echo.shown[0]
    assert set(shown[:, 1:4].unique().tolist()) == {Tokenizer.unknown, 10, 20, 30}
    assert torch.equal(shown[:, [0, 4]], before[:, [0, 4]])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"word_dropout": 1.0}, "word_dropout: got"),
        ({"source_swap": -0.1}, "source_swap: got"),
        ({"min_truth": 0.0}, "min_truth: got"),
    ],
)
def test_chances_are_chances(options: dict[str, float], what: str) -> None:
    with pytest.raises(RegardError, match=what):
        Teach(**options)


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_translator_is_taught_and_its_log_says_so(place: str, tmp_path: Any) -> None:
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"{a} {b}\t{b} {a}\n" for a in "abcde" for b in "fghij"))
    made = api.train(
        "translate", data=str(data), out=tmp_path / "run", quiet=True, **sides("word", dim=8),
        encoder={"hidden": 8, "layers": 1}, decoder={"embed": 8, "hidden": 8, "place": place},
        teach={"scheduled_sampling": "inverse", "min_truth": 0.5, "source_dropout": 0.1, "source_swap": 0.1,
               "source_replace": 0.1, "word_dropout": 0.1},
        train={"steps": 6, "validate_every": 3},
    )  # fmt: skip
    log = (made.model.run.folder / "log.jsonl").read_text()
    notes = json.loads(log.splitlines()[-1])["notes"]
    chances = {
        name: notes[name]
        for name in ("label_smoothing", "source_dropout", "source_swap", "source_replace", "word_dropout")
    }
    assert chances == pytest.approx(dict.fromkeys(chances, 0.1))
    assert 0.5 < notes["truth"] < 1
