"""Classify: labels in order of likelihood, the loss by hand; mistakes in the data are one line with their place."""

import math
from pathlib import Path
from typing import Any

import pytest

from regard.api import configure, make_task, prepare
from regard.errors import RegardError
from regard.find import find
from regard.tasks.classify import Classify
from regard.train.task import Ask
from regard.types import Example, Sequences
from sentence_tasks import both, examples, refused, task_of

good = ["a dog runs\tmoving", "a dog sleeps\tstill"]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "classify") is Classify
    assert (Classify.name, Classify.default_data) == ("classify", "builtin:languages")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "lines.tsv"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("classify", options))
    task.learn(examples["classify"])
    read = task.network().read([Sequences.pad([[4, 5]])])
    assert read.logits.shape == (1, 3)


def test_a_prediction_holds_it_all() -> None:
    task, model = both("classify", pool="attention")
    prediction = task.predict(model, [("a dog runs",)], Ask())[0]
    assert prediction.source == "a dog runs"
    assert {prediction.text, *(one.text for one in prediction.others)} == set(task.target.names)
    assert sum(math.exp(one.log_prob) for one in (prediction, *prediction.others)) == pytest.approx(1)
    assert prediction.look.weights.sum() == pytest.approx(1, abs=1e-5)


def test_examples_are_counted() -> None:
    task, model = both("classify")
    batch = task.collate(task.items(examples["classify"]))
    assert (task.counts, model.count(batch), model(batch).count) == ("examples", 6, 6)
    assert [item.target for item in task.items(examples["classify"])] == [[2], [1], [1], [0], [0], [2]]


def test_a_label_that_was_never_seen(tmp_path: Path) -> None:
    said = refused("classify", tmp_path, good, ["a dog\tmovin"])
    assert said == (
        "valid-classify.tsv:1: label 'movin'; expected a label from the training data; did you mean 'moving'?"
    )
    said = refused("classify", tmp_path, good, ["a cat\tstill", "a cat\tother"])
    assert said.startswith(
        "valid-classify.tsv:2: label 'other'; expected a label from the training data; known: moving"
    )
    task = task_of("classify")
    with pytest.raises(RegardError, match=r"^new\.tsv:9: label 'perhaps'"):
        task.results(task.network(), [Example(("a dog",), "perhaps", "new.tsv:9")])


def test_only_one_label(tmp_path: Path) -> None:
    said = refused("classify", tmp_path, ["a\tx", "b\tx", "c\tx"])
    assert "every label is 'x'; expected at least two different labels" in said


def test_an_empty_text(tmp_path: Path) -> None:
    assert refused("classify", tmp_path, [*good, "\tmoving"], good) == (
        "classify.tsv:3: an empty text; expected at least one character; fill it or remove the line, "
        "or set data.skip=true to skip such lines"
    )
    assert refused("classify", tmp_path, good, ["  \tmoving"]).startswith("valid-classify.tsv:1: an empty text")


def test_an_option_that_is_none() -> None:
    with pytest.raises(RegardError, match=r"unknown option 'encoder\.hiden'; did you mean 'hidden'"):
        configure("classify", {"encoder": {"hiden": 3}})


def test_a_header_that_names_text_and_label_is_none_of_the_examples(tmp_path: Path) -> None:
    for header in ("label,text", "sentence,label"):
        rows = [f"w{n},l{n % 2}" if header.endswith("label") else f"l{n % 2},w{n}" for n in range(40)]
        (tmp_path / "a.csv").write_text("\n".join([header, *rows]))
        ready = prepare("classify", {"data": {"train": str(tmp_path / "a.csv")}})
        assert ready.task.target.names == ["l0", "l1"]


def test_a_label_that_one_example_has_stays_in_train(tmp_path: Path) -> None:
    """Wherever the split of a file without parts would have put it."""
    (tmp_path / "a.tsv").write_text("".join(f"word {n}\tl{n if n < 30 else 0}\n" for n in range(90)))
    ready = prepare("classify", {"data": {"train": str(tmp_path / "a.tsv")}})
    assert len(ready.task.target.names) == 30


@pytest.mark.parametrize("name", ["classify", "entail"])
def test_a_smoothing_that_is_no_share(name: str) -> None:
    with pytest.raises(RegardError, match=r"^head.label_smoothing: got 2; expected a number from 0 to below 1 \(.*\)$"):
        make_task(configure(name, {"head": {"label_smoothing": 2}}))


def test_nothing_to_validate_on_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    said = refused("classify", tmp_path, ["a\tx", "b\ty"])
    assert said == (
        "classify.tsv: cannot hold out a validation set from 2 examples: "
        "a label that only one of them has stays in train; "
        "add more examples, or give a validation set with data.valid=, "
        "or check that data.target= names the column of labels"
    )
