"""Where a model goes wrong, by hand: what is said follows from the field of the target."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.error_analysis import WORST, analyse, write
from regard.measure import Results
from regard.tasks.classify import Classify
from regard.tasks.language import Language
from regard.tasks.relate import Relate
from regard.tasks.tag import Tag
from regard.tasks.translate import Translate
from regard.train.task import Task
from regard.types import Example, Prediction


def model(task: Task, train: Sequence[Example], name: str, log_probs: Sequence[float] = ()) -> Any:
    """A trained model as far as an analysis asks: `log_probs` are what it gives the targets, per token."""
    task.learn(train)

    def score(rows: Any, look: bool, where: Any) -> list[Prediction]:
        return [Prediction("", p, log_prob_per_token=p) for p in log_probs[: len(rows)]]

    return SimpleNamespace(task=task, config={"task": name}, run=SimpleNamespace(folder=Path("runs/x")), score=score)


def of_label(answer: str, p: float, *others: tuple[str, float]) -> Prediction:
    return Prediction(answer, math.log(p), others=tuple(Prediction(text, math.log(q)) for text, q in others))


@pytest.fixture
def labels() -> dict[str, Any]:
    """Three labels; "b" is taken for "a" twice, once with much confidence."""
    texts = [("x", "a"), ("x y", "b"), ("x y z", "b"), ("x y z w", "b"), ("y z", "c"), ("z", "a")]
    examples = [Example((text,), label, f"d.tsv:{n}") for n, (text, label) in enumerate(texts, 1)]
    said = [
        of_label("a", 0.9, ("b", 0.06), ("c", 0.04)),
        of_label("a", 0.6, ("b", 0.3), ("c", 0.1)),
        of_label("a", 0.8, ("c", 0.15), ("b", 0.05)),
        of_label("b", 0.5, ("a", 0.4), ("c", 0.1)),
        of_label("c", 0.7, ("a", 0.2), ("b", 0.1)),
        of_label("a", 0.6, ("b", 0.3), ("c", 0.1)),
    ]
    return analyse(model(Classify(), examples, "classify"), examples, Results(examples, said, 1.0, 6))


def test_confusions_and_figures_by_label(labels: dict[str, Any]) -> None:
    """Of "b" 1 of 3 is found, and all that was called "b" is: F1 = 2 · 1 / (3 + 1)."""
    assert {(one["true"], one["predicted"]): one["count"] for one in labels["confusions"]} == {
        ("a", "a"): 2, ("b", "a"): 2, ("b", "b"): 1, ("c", "c"): 1
    }  # fmt: skip
    assert [row["label"] for row in labels["by_label"]] == ["b", "a", "c"]
    first, second, _ = labels["by_label"]
    assert (first["examples"], first["predicted"], first["taken_for"]) == (3, 1, "a")
    assert (first["precision"], first["recall"], first["f1"]) == (1.0, pytest.approx(1 / 3), 0.5)
    assert (second["precision"], second["recall"], second["taken_for"]) == (0.5, 1.0, None)


def test_the_worst_come_first(labels: dict[str, Any]) -> None:
    """Wrong ones before right ones, and among these by −log p of the target."""
    assert list(labels["scores"]) == ["accuracy", "loss"]
    worst = labels["worst"]
    assert [row["where"] for row in worst][:3] == ["d.tsv:3", "d.tsv:2", "d.tsv:4"]
    assert worst[0]["scores"] == {"accuracy": 0.0, "loss": pytest.approx(-math.log(0.05))}
    assert (worst[0]["inputs"], worst[0]["target"], worst[0]["answer"]) == (["x y z"], "b", "a")


def test_scores_by_input_length(labels: dict[str, Any]) -> None:
    rows = labels["by_length"]
    assert [(row["from"], row["to"], row["examples"]) for row in rows] == [(1, 1, 2), (2, 2, 2), (3, 3, 1), (4, 4, 1)]
    assert [row["scores"]["accuracy"]["mean"] for row in rows] == [1.0, 0.5, 0.0, 1.0]
    assert rows[2]["scores"]["accuracy"]["low"] is None  # one example has no interval


def test_groups_of_about_the_same_size() -> None:
    """600 examples of 1 to 100 tokens, most of them short: six groups that cover them all, without gaps."""
    texts = [" ".join("x" * (1 + n * n // 3_600)) for n in range(600)]
    examples = [Example((text,), "ab"[n % 2]) for n, text in enumerate(texts)]
    said = [of_label("a", 0.6, ("b", 0.4)) for _ in examples]
    report = analyse(model(Classify(), examples, "classify"), examples, Results(examples, said, 1.0, 1))
    rows = report["by_length"]
    assert len(rows) == 6
    assert (rows[0]["from"], rows[-1]["to"]) == (1, 100)
    assert all(after["from"] == before["to"] + 1 for before, after in pairwise(rows))
    assert sum(row["examples"] for row in rows) == 600
    assert all(80 <= row["examples"] <= 120 for row in rows)
    assert len(report["worst"]) == WORST


def test_tags_are_counted_token_by_token() -> None:
    examples = [Example(("x y",), "A B"), Example(("y",), "B")]
    said = [Prediction("A A", -1.0), Prediction("B", -1.0)]
    report = analyse(model(Tag(), examples, "tag"), examples, Results(examples, said, 1.0, 3))
    assert {(one["true"], one["predicted"]): one["count"] for one in report["confusions"]} == {
        ("A", "A"): 1, ("B", "A"): 1, ("B", "B"): 1
    }  # fmt: skip
    assert report["worst"][0]["scores"] == {"tag_accuracy": 0.5}  # what p the true labels have is not known


def test_numbers_have_residuals() -> None:
    examples = [Example(("x", "y"), "2"), Example(("x", "z"), "4.5")]
    said = [Prediction("2.5", None, others=(Prediction("2", -0.5),)), Prediction("3.0", None)]
    report = analyse(model(Relate(), examples, "relate"), examples, Results(examples, said, 1.0, 2))
    assert report["residuals"] == [{"true": 2.0, "predicted": 2.5}, {"true": 4.5, "predicted": 3.0}]
    assert report["scores"] == {"mse": {"better": "lower"}}
    assert [row["scores"]["mse"] for row in report["worst"]] == [2.25, 0.25]
    assert report["roles"] == ["first sentence", "second sentence"]
    assert "by_label" not in report


def test_texts_have_words_that_are_missed() -> None:
    """A word is missed where every reference has it, and added where none does."""
    examples = [
        Example(("der Hund",), "the dog runs", "p:1"),
        Example(("die Katze",), "the cat , the cat", "p:2", alternatives=("a cat and the cat",)),
        Example(("der Ball",), "the ball", "p:3"),
    ]
    said = [Prediction("the dog", -1.0), Prediction("the dog", -1.0), Prediction("the ball", -1.0)]
    task = Translate(metrics=("chrf", "exact_match"), best_metric="chrf")
    one = model(task, examples, "translate", [-0.5, -3.0, -0.1])
    report = analyse(one, examples, Results(examples, said, 1.0, 9, 3))
    assert report["missed"] == [{"word": "cat", "missed": 2, "of": 2}, {"word": "runs", "missed": 1, "of": 1}]
    assert report["added"] == [{"word": "dog", "added": 1, "of": 2}]
    assert list(report["scores"]) == ["chrf", "exact_match", "loss"]
    assert [row["where"] for row in report["worst"]] == ["p:2", "p:1", "p:3"]
    assert report["worst"][0]["scores"]["loss"] == 3.0
    assert report["worst"][0]["alternatives"] == ["a cat and the cat"]
    assert [(row["from"], row["examples"]) for row in report["by_references"]] == [(1, 2), (2, 1)]


def test_a_text_without_a_target_is_judged_by_its_loss() -> None:
    examples = [Example(("one two",), ""), Example((" ",), ""), Example(("three",), "")]
    task = Language(metrics=("perplexity",), best_metric="perplexity")
    report = analyse(model(task, examples, "language", [-0.5, -3.0]), examples, Results(examples, (), 4.0, 4, 1))
    assert report["scores"] == {"loss": {"better": "lower"}}
    assert [(row["inputs"], row["scores"]["loss"]) for row in report["worst"]] == [
        (["three"], 3.0), (["one two"], 0.5), ([" "], None)
    ]  # fmt: skip


def test_what_is_written(labels: dict[str, Any], tmp_path: Path) -> None:
    task = Classify()
    files = write({**labels, "data": "test", "measures": {"accuracy": math.nan}}, SimpleNamespace(task=task), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    assert files == ["index.html", "errors.json", "confusion.png", "by_label.png", "by_length.png"]
    found = json.loads((tmp_path / "errors.json").read_text(), parse_constant=pytest.fail)
    assert found["by_label"] == labels["by_label"]
    assert found["measures"] == {"accuracy": None}
