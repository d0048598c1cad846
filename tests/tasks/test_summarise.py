"""Summarise: its presets are known options, its defaults make a model, and a summary is shorter than its document."""

from pathlib import Path
from typing import Any

import pytest
import torch

from generation_tasks import sides
from regard.api import configure, make_task
from regard.data.load import load_part
from regard.data.read import Reading
from regard.find import find
from regard.tasks.summarise import Summarise
from regard.train.task import Ask
from regard.types import Example

examples = [Example(("Anna lost a ring. It rained.",), "Ring lost"), Example(("Tom sings.",), "Tom")]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "summarise") is Summarise
    assert (Summarise.name, Summarise.default_data) == ("summarise", "builtin:headlines")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "pairs.tsv"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("summarise", options))
    task.learn(examples)
    loss = task.network()(task.collate(task.items(examples)))
    assert loss.count == sum(len(item.target) for item in task.items(examples))
    assert torch.isfinite(loss.total)
    assert find("measure", task.metrics.best).better == "higher"


def test_a_summary_is_shorter_than_its_document() -> None:
    task = Summarise(**sides(max_length=300))
    assert [task.room(length) for length in (1, 100, 2000)] == [40, 90, 300]


@pytest.mark.parametrize("names", Summarise.known)
def test_well_known_files_need_no_names(names: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"id": "7", "{names[1]}": "short", "{names[0]}": "a long text"}}\n')
    assert load_part(str(path), tuple(Summarise().fields.values()), Reading(known=Summarise.known)) == [
        Example(("a long text",), "short", f"{path}:1")
    ]


def test_it_is_measured_by_rouge() -> None:
    task = Summarise(
        **sides(dim=8),
        encoder={"name": "recurrent", "hidden": 8},
        decoder={"name": "recurrent", "embed": 8, "hidden": 8},
    )
    task.learn(examples)
    figures = task.measure(task.results(task.network().eval(), examples, quick=True))
    assert {"rouge", "rouge1", "rouge2", "rougeL", "bleu", "chrf", "exact_match", "perplexity"} <= set(figures)


def test_only_the_beginning_is_read_where_it_is_truncated() -> None:
    task = Summarise(**sides("word", dim=4, truncate=3))
    task.learn([Example(("a b c d e",), "a b", "x:1"), Example(("a b",), "a", "x:2")])
    first, second = task.items([Example(("a b c d e",), "a b", "x:1"), Example(("a b",), "a", "x:2")])
    assert task.source.text.decode(first.inputs[0]) == "a b"  # and the end
    assert [len(one.inputs[0]) for one in (first, second)] == [3, 3]
    [found] = task.predict(task.network().eval(), [("a b c d e",)], Ask())
    assert found.look is not None
    assert [token.text for token in found.look.columns] == ["a", "b", "</s>"]
    [given] = task.score(task.network().eval(), [("a b c d e", "a b")], Ask())
    assert given.look is not None
    assert len(given.look.columns) == 3
