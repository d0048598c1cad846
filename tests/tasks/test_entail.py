"""Entail: premise and hypothesis → a label; the published sizes; files of SNLI and SICK read as they come."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from regard.api import configure, make_task, prepare
from regard.fields.text import WORDS
from regard.find import find
from regard.tasks.entail import Entail
from regard.train.task import Ask
from regard.types import Example, Sequences
from sentence_tasks import both, examples, new_task, prepared, refused, task_of

# Without embeddings, in millions, as printed in "Reinforced Self-Attention Network" (Shen et al. 2018), table 1.
published = {
    "bilstm": 2.9,
    "bigru": 2.5,
    "multi_window": 1.4,
    "hierarchical": 3.4,
    "multi_head": 2.0,
    "disan": 2.4,
    "resan": 3.1,
}
good = ["a dog runs\tan animal runs\tyes", "a dog\ta cat\tno"]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "entail") is Entail
    assert (Entail.name, Entail.default_data) == ("entail", "builtin:grammar")
    assert Entail.roles == ("premise", "hypothesis")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "pairs.tsv"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("entail", options))
    task.learn(examples["entail"])
    assert task.network().read([Sequences.pad([[4, 5]]), Sequences.pad([[6]])]).logits.shape == (1, 3)


@pytest.mark.parametrize("encoder", published)
def test_models_are_as_large_as_published(encoder: str) -> None:
    """Words of 300, and all else as it comes: pooling, `[u; v; u − v; u ⊙ v]`, one layer of 300."""
    task = task_of("entail", input=WORDS, encoder=encoder, head={"hidden": 300})
    model = task.network()
    assert model.embed.size == 300
    count = sum(p.numel() for name, p in model.named_parameters() if not name.startswith("embed."))
    assert count / 1e6 == pytest.approx(published[encoder], rel=0.15)
    assert sum(p.numel() for p in model.embed.parameters()) == len(task.inputs["premise"].text) * 300


def test_which_is_which_matters() -> None:
    task, model = both("entail")
    [one, other] = task.predict(model, [("a dog runs", "an animal sleeps"), ("an animal sleeps", "a dog runs")], Ask())
    assert one.log_prob != pytest.approx(other.log_prob, abs=1e-4)
    assert one.source == "a dog runs\tan animal sleeps"


def test_words_of_both_sides_are_learned() -> None:
    task = new_task("entail", input=WORDS)
    task.learn([Example(("left", "right"), "a"), Example(("Up", "down!"), "b")])
    text = task.inputs["premise"].text
    assert text.unknown not in text.encode("left right up down!")
    assert text.encode("LEFT") == text.encode("left")


def test_mistakes_are_told_with_their_place(tmp_path: Path) -> None:
    assert refused("entail", tmp_path, [*good, "\ta cat\tno"], good) == (
        "entail.tsv:3: an empty text; expected at least one character; fill it or remove the line, "
        "or set data.skip=true to skip such lines"
    )
    assert refused("entail", tmp_path, good, ["a cat\t\tno"]).startswith("valid-entail.tsv:1: an empty text")
    assert refused("entail", tmp_path, good, ["a\tb\tjes"]).startswith(
        "valid-entail.tsv:1: label 'jes'; expected a label from the training data; did you mean 'yes'?"
    )
    assert refused("entail", tmp_path, ["a dog\tyes"]).startswith("entail.tsv:1: 2 fields; expected 3")
    assert "every label is 'yes'" in refused("entail", tmp_path, good[:1] * 3)


def test_snli_comes_as_it_is(tmp_path: Path) -> None:
    """Named by its keys; pairs on which the annotators did not agree are left out, and that is told."""
    rows = [
        {"gold_label": label, "sentence1": "A dog runs.", "sentence2": f"{word} animal.", "pairID": "1"}
        for label, word in [("entailment", "An"), ("-", "One"), ("neutral", "Some"), ("contradiction", "No")]
    ]
    path = tmp_path / "snli.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ready = prepare("entail", {"data": {"train": str(path), "valid": str(path)}, "encoder": {"hidden": 2}})
    assert [example.target for example in ready.splits.train] == ["entailment", "neutral", "contradiction"]
    assert ready.splits.train[0].inputs == ("A dog runs.", "An animal.")
    assert "skipped 1 of 4 examples" in ready.splits.notes[0]
    assert ready.task.target.names == ["contradiction", "entailment", "neutral"]


def test_sick_comes_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "SICK_train.txt"
    path.write_text(
        "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
        "1\tA dog runs\tA cat runs\t3.2\tNEUTRAL\n2\tA dog\tNo dog\t2\tCONTRADICTION\n"
    )
    for task, targets in (("entail", ["NEUTRAL", "CONTRADICTION"]), ("relate", ["3.2", "2"])):
        ready = prepare(task, {"data": {"train": str(path), "valid": str(path)}, "encoder": {"hidden": 2}})
        assert [example.target for example in ready.splits.train] == targets
        assert ready.splits.train[1].inputs == ("A dog", "No dog")


def test_a_pair_may_be_of_any_lengths(tmp_path: Path) -> None:
    ready = prepared("entail", tmp_path, [*good, "a b c d e f g\th\tno"], good)
    batch = ready.task.collate(ready.task.items(ready.splits.train))
    assert [one.values.shape for one in batch.inputs] == [(3, 7), (3, 3)]
    assert ready.network.read(batch.inputs).logits.shape == (3, 2)
    assert torch.equal(batch.target, torch.tensor([1, 0, 0]))


def test_the_preset_learns_at_a_rate_that_adam_bears() -> None:
    assert 1e-4 <= Entail.preset["train"]["lr"] <= 2e-2
