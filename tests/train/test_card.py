"""The card tells what a run is, in its own figures."""

import re
from pathlib import Path

import pytest
import torch
from markdown_it import MarkdownIt
from torch import nn

from regard.data.splits import Splits
from regard.train.card import card
from regard.train.loop import Outcome
from regard.train.run import Run
from regard.types import Example

one = Example(("a",), "A")
outcome = Outcome(step=1234, best=0.5, stopped=None, seconds=61.4, per_second=5678.9)


def written(tmp_path: Path, data: str, test: dict[str, float | str], splits: Splits) -> str:
    model = nn.Linear(99, 20)  # 2,000 parameters
    run = Run.create(tmp_path / "dates", {"task": "translate", "data": {"train": data}}, {}, model)
    path = card(run, outcome, splits, model, test)
    assert path == tmp_path / "dates" / "card.md"
    return path.read_text(encoding="utf-8")


def test_every_figure_is_the_run_s_own(tmp_path: Path) -> None:
    figures: dict[str, float | str] = {"bleu": 37.5, "bleu_signature": "nrefs:1|case:mixed"}
    text = written(tmp_path, "pairs.tsv", figures, Splits([one] * 2100, [one] * 2, [one] * 3))
    assert text.startswith("# translate: dates\n")
    assert "A model with 2,000 parameters, trained with regard on pairs.tsv: 2,100 training examples" in text
    assert "2 validation examples, 3 test examples" in text
    assert "1,234 steps in 61 s" in text
    assert "5,679 target tokens per second; best validation score 0.5000" in text
    assert "| bleu | 37.5000 |" in text
    assert "| bleu_signature | `nrefs:1" in text
    assert f"regard evaluate {tmp_path / 'dates'}" in text


def test_a_table_stays_a_table(tmp_path: Path) -> None:
    """A | inside a cell would be two cells."""
    text = written(tmp_path, "", {"s": "a|b", "x": 1.0}, Splits([one]))
    rows = [line.replace(r"\|", "") for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == 4
    assert {row.count("|") for row in rows} == {3}


def test_without_a_test_set(tmp_path: Path) -> None:
    text = written(tmp_path, "", {}, Splits([one]))
    assert "There was no test set." in text
    assert "trained with regard on built-in data" in text
    assert "| test metric |" not in text


def test_a_name_with_spaces_can_still_be_typed(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    run = Run.create(tmp_path / "my run", {"task": "translate", "data": {}}, {}, model)
    text = card(run, outcome, Splits([one]), model, {}).read_text(encoding="utf-8")
    assert f"regard evaluate '{tmp_path / 'my run'}'" in text


def test_it_names_what_the_model_was_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU that was not used")
    assert "CPU (torch" in written(tmp_path, "", {}, Splits([one]))


def test_a_speed_that_was_not_measured_is_not_told(tmp_path: Path) -> None:
    model = nn.Linear(1, 1)
    run = Run.create(tmp_path / "run", {"task": "translate", "data": {}}, {}, model)
    late = Outcome(step=9, best=0.5, stopped=None, seconds=1.0, per_second=0.0)
    assert "tokens a second" not in card(run, late, Splits([one]), model, {}).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["<script>alert(1)<", "[x](javascript:1)", "`a` **b**", "a\n\n```\n<b>"])
def test_names_are_words_and_nothing_else(tmp_path: Path, name: str) -> None:
    model = nn.Linear(1, 1)
    config = {"task": f"my.{name}", "data": {"train": f"{name}.tsv"}}
    run = Run.create(tmp_path / name, config, {}, model)
    text = card(run, outcome, Splits([one]), model, {name: 0.5, "s": name}).read_text(encoding="utf-8")
    made = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(text)
    tags = {tag.strip("</>").split()[0] for tag in re.findall("<[^>]*>", made)}
    assert tags <= {"h1", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "img"}
    assert made.count("<img") == made.count("<pre>") == made.count("<h1>") == 1
    assert re.findall(r'(?:src|href)="([^"]*)"', made) == ["curve.png"]
