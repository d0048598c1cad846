"""Relate: a distribution over the steps of a scale, its KL divergence by hand, its mean as the answer."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_tasks import both, examples, read_of, refused, task_of

from regard.api import configure, make_task
from regard.errors import RegardError
from regard.find import find
from regard.tasks.relate import Relate
from regard.types import Example, Sequences

good = ["a dog\ta cat\t3.2", "a dog\ta dog\t5"]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "relate") is Relate
    assert (Relate.name, Relate.columns, Relate.default_data) == ("relate", 3, "builtin:likeness")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "pairs.tsv"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("relate", options))
    task.learn(examples["relate"])
    assert task.model()([Sequences.pad([[4, 5]]), Sequences.pad([[6]])]).logits.shape == (1, 5)


def test_the_loss_by_hand() -> None:
    """A score of 3.6 is 0.4 on the step 3 and 0.6 on 4. Of p = ⅛, ⅛, ½, ⅛, ⅛ the divergence is
    0.4 ln(0.4 / ½) + 0.6 ln(0.6 / ⅛); a score of 3 is all on its step: ln 2; a score of 5: ln 8."""
    task = task_of("relate")
    p = [1 / 8, 1 / 8, 1 / 2, 1 / 8, 1 / 8]
    read = read_of([[math.log(one) + 7 for one in p]] * 3)
    assert task.nats(read, torch.tensor([3.6, 3.0, 5.0])).tolist() == pytest.approx(
        [0.4 * math.log(0.4 / 0.5) + 0.6 * math.log(0.6 * 8), math.log(2), math.log(8)], rel=1e-5
    )
    assert task.nats(read_of([[math.log(0.4), math.log(0.6), -50, -50, -50]]), torch.tensor([1.6])).item() == (
        pytest.approx(0, abs=1e-6)  # the very distribution
    )


def test_the_gradient_draws_to_the_true_distribution() -> None:
    """∂KL/∂logits = p − target."""
    task = task_of("relate")
    read = read_of([[0.3, -0.2, 0.5, 0.1, 0.0]])
    logits = read.logits.requires_grad_()
    task.nats(read, torch.tensor([2.25])).sum().backward()
    target = torch.tensor([[0.0, 0.75, 0.25, 0.0, 0.0]])
    torch.testing.assert_close(logits.grad, torch.softmax(logits.detach(), -1) - target, rtol=1e-5, atol=1e-6)


def test_the_answer_is_the_mean() -> None:
    task = task_of("relate")
    [even, one] = task.answers(read_of([[0.0] * 5, [math.log(3), 0.0, -60.0, -60.0, -60.0]]), 2)
    assert (even.text, even.log_prob, even.others[0].log_prob) == ("3.0000", None, pytest.approx(math.log(1 / 5)))
    assert (one.text, one.log_prob, one.others[0].log_prob) == ("1.2500", None, pytest.approx(math.log(3 / 4)))
    assert [step.text for step in even.others] == ["1", "2", "3", "4", "5"]  # alike: as the scale has them


def test_the_steps_of_the_scale_stand_beside_it() -> None:
    """p = ⅛, ¼, ½, 1/16, 1/16: a mean of ⅛ + ½ + 1½ + ¼ + 5/16, and the likeliest step first."""
    p = {"3": 1 / 2, "2": 1 / 4, "1": 1 / 8, "4": 1 / 16, "5": 1 / 16}
    [found] = task_of("relate").answers(read_of([[math.log(p[step]) - 3 for step in "12345"]]), 1)
    assert {step.text: math.exp(step.log_prob) for step in found.others} == pytest.approx(p)
    assert [step.text for step in found.others] == list(p)
    assert (found.text, found.log_prob, found.log_prob_per_token) == ("2.6875", None, None)
    task, model = both("relate", head={"low": -1, "high": 5, "hidden": 5})
    for look in (False, True):
        [one] = task.predict(model, [("a dog", "a cat")], look)
        assert {step.text for step in one.others} == {"-1", *"012345"}
        mean = sum(int(step.text) * math.exp(step.log_prob) for step in one.others)
        assert float(one.text) == pytest.approx(mean, abs=1e-4)


def test_another_scale() -> None:
    task, model = both("relate", head={"low": 0, "high": 10, "hidden": 5})
    assert (task.low, task.high) == (0, 10)
    assert model([Sequences.pad([[4]]), Sequences.pad([[5]])]).logits.shape == (1, 11)
    assert task.items([Example(("a", "b"), "9.5", "x:1")])[0].target == [9.5]
    assert 0 <= float(task.predict(model, [("a dog", "a cat")])[0].text) <= 10


def test_it_is_measured_by_correlation() -> None:
    task, model = both("relate")
    figures = task.measure(task.results(model, examples["relate"]))
    assert figures.keys() == {"pearson", "spearman", "mse", "loss"}
    assert task.best == "pearson"


@pytest.mark.parametrize("score", ["5.1", "0.9", "-1", "nan", "inf", "high", "", "3,5"])
def test_a_score_beyond_the_scale(tmp_path: Path, score: str) -> None:
    expected = f"score {score!r}; expected a number from 1 to 5; set head.low and head.high for another scale"
    assert refused("relate", tmp_path, good, [good[0], f"a\tb\t{score}"]) == f"valid-relate.tsv:2: {expected}"
    assert refused("relate", tmp_path, [*good, f"a\tb\t{score}"], good) == f"relate.tsv:3: {expected}"


def test_an_empty_sentence(tmp_path: Path) -> None:
    assert refused("relate", tmp_path, good, ["\ta\t3"]).startswith("valid-relate.tsv:1: an empty first sentence")
    assert refused("relate", tmp_path, good, ["a\t\t3"]).startswith("valid-relate.tsv:1: an empty second sentence")


def test_a_scale_that_is_none() -> None:
    with pytest.raises(RegardError, match="a scale from 5 to 5"):
        Relate(head={"low": 5})
