"""Relate: a distribution over the steps of a scale, its KL divergence by hand, its mean as the answer."""

import math
from pathlib import Path
from typing import Any

import pytest

from regard.api import configure, make_task
from regard.errors import RegardError
from regard.find import find
from regard.tasks.relate import Relate
from regard.train.task import Ask
from regard.types import Example, Sequences
from sentence_tasks import both, examples, refused

good = ["a dog\ta cat\t3.2", "a dog\ta dog\t5"]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "relate") is Relate
    assert (Relate.name, Relate.default_data) == ("relate", "builtin:likeness")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "pairs.tsv"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("relate", options))
    task.learn(examples["relate"])
    assert task.network().read([Sequences.pad([[4, 5]]), Sequences.pad([[6]])]).logits.shape == (1, 5)


def test_the_steps_of_the_scale_stand_beside_it() -> None:
    task, model = both("relate", head={"low": -1, "high": 5, "hidden": 5})
    for look in (False, True):
        [one] = task.predict(model, [("a dog", "a cat")], Ask(look=look))
        assert {step.text for step in one.others} == {"-1", *"012345"}
        mean = sum(int(step.text) * math.exp(step.log_prob) for step in one.others)
        assert float(one.text) == pytest.approx(mean, abs=1e-4)


def test_another_scale() -> None:
    task, model = both("relate", head={"low": 0, "high": 10, "hidden": 5})
    assert (task.target.low, task.target.high) == (0, 10)
    assert model.read([Sequences.pad([[4]]), Sequences.pad([[5]])]).logits.shape == (1, 11)
    assert task.items([Example(("a", "b"), "9.5", "x:1")])[0].target == [9.5]
    assert 0 <= float(task.predict(model, [("a dog", "a cat")], Ask())[0].text) <= 10


def test_it_is_measured_by_correlation() -> None:
    task, model = both("relate")
    figures = task.measure(task.results(model, examples["relate"]))
    assert figures.keys() == {"pearson", "spearman", "mse", "loss"}
    assert task.metrics.best == "pearson"


@pytest.mark.parametrize("score", ["5.1", "0.9", "-1", "nan", "inf", "high"])
def test_a_score_beyond_the_scale(tmp_path: Path, score: str) -> None:
    expected = f"score {score!r}; expected a number from 1 to 5; set head.low and head.high for another scale"
    assert refused("relate", tmp_path, good, [good[0], f"a\tb\t{score}"]) == f"valid-relate.tsv:2: {expected}"
    assert refused("relate", tmp_path, [*good, f"a\tb\t{score}"], good) == f"relate.tsv:3: {expected}"


def test_an_empty_sentence(tmp_path: Path) -> None:
    assert refused("relate", tmp_path, good, ["\ta\t3"]).startswith("valid-relate.tsv:1: an empty text")
    assert refused("relate", tmp_path, good, ["a\t\t3"]).startswith("valid-relate.tsv:1: an empty text")


def test_a_scale_that_is_none() -> None:
    with pytest.raises(RegardError, match="a scale from 5 to 5"):
        Relate(head={"low": 5})
