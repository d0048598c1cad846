"""Translate: its presets are known options, its defaults make a model, and it learns."""

from pathlib import Path
from typing import Any

import pytest
import torch

from generation_tasks import sides
from regard.api import configure, make_task
from regard.find import find, settable
from regard.tasks.translate import Translate
from regard.train.log import read
from regard.types import Example

examples = [Example(("eins zwei",), "one two"), Example(("zwei",), "two")]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "translate") is Translate
    assert (Translate.name, Translate.default_data) == ("translate", "builtin:dates")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "pairs.tsv"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("translate", options))
    task.learn(examples)
    model = task.network()
    loss = model(task.collate(task.items(examples)))
    assert loss.count == sum(len(item.target) for item in task.items(examples))
    assert torch.isfinite(loss.total)
    assert find("measure", task.metrics.best).better in ("higher", "lower")


def test_every_option_is_the_user_s() -> None:
    assert set(settable(Translate)) == {
        *("source", "target", "encoder", "attention", "decoder", "search", "metrics", "best_metric"),
        *("label_smoothing", "teach", "fertility", "reinforce"),
    }


def test_the_defaults_are_not_shared_between_tasks() -> None:
    one = Translate()
    one.metrics.metrics.clear()
    one.options["attention"]["score"] = "changed"
    one.source.embed["dim"] = 1
    assert Translate().metrics.metrics
    assert Translate().options["attention"]["score"] != "changed"
    assert Translate().source.embed["dim"] != 1


def test_it_learns_a_few_pairs_by_heart(tmp_path: Path) -> None:
    """Six words, forty steps: enough to say them all again, through the whole way from file to answer."""
    from regard.api import train

    small: dict[str, Any] = {
        **sides(dim=16),
        "encoder": {"hidden": 24, "layers": 1},
        "decoder": {"embed": 16, "hidden": 32, "dropout": 0.0},
        "attention": {"score": {"hidden": 16}},
        "best_metric": "exact_match",
        "label_smoothing": 0.0,
    }
    words = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "acht": "eight", "zehn": "ten"}
    (tmp_path / "words.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in words.items()) * 4)
    done = train(
        "translate",
        data={"train": str(tmp_path / "words.tsv"), "valid": str(tmp_path / "words.tsv")},
        out=tmp_path / "run",
        quiet=True,
        **small,
        train={
            "steps": 40,
            "validate_every": 20,
            "batch_size": 24,
            "lr": 0.03,
            "warmup": 4,
            "ema": 0.0,
            "device": "cpu",
        },
    )
    assert {word: done.model(word).text for word in words} == words
    assert done.outcome.best == 1.0
    first, *_, last = read(tmp_path / "run" / "log.jsonl")
    assert last["loss"] < first["loss"]
