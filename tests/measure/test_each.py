"""Scores of single examples: by hand where they are simple, and the score of a set of one where they are not."""

import pytest

from regard.find import build
from regard.measure import PerExample, Results
from regard.measure.mse import Mse
from regard.measure.tag_accuracy import TagAccuracy
from regard.train.metrics import MetricSet
from regard.types import Example, Prediction

texts = [("the cat sat on the mat", "the cat sat on a mat"), ("a dog", "a dog"), ("one two three", "four five")]


def results(*pairs: tuple[str, str]) -> Results:
    return Results([Example(("?",), target) for target, _ in pairs], [Prediction(text, 0.0) for _, text in pairs])


def test_by_hand() -> None:
    assert Mse().each(results(("1", "2.5"), ("3", "3"))) == [2.25, 0.0]
    assert TagAccuracy().each(results(("A B", "A C"), ("A", "A"), ("", ""))) == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("name", ["accuracy", "exact_match", "chrf", "rouge"])
def test_each_is_what_a_set_of_one_would_score(name: str) -> None:
    measure = build("measure", name)
    assert isinstance(measure, PerExample)
    alone = [measure(results(pair))[name] for pair in texts]
    assert measure.each(results(*texts)) == pytest.approx(alone)
    assert max(alone) > min(alone)


def test_bleu_of_a_short_text() -> None:
    """Two words have no n-grams of 3 and 4, which are left out."""
    each = build("measure", "bleu").each(results(*texts))
    assert each[1] == pytest.approx(100)
    assert 0 < each[0] < 100
    assert each[2] == pytest.approx(0, abs=20)


@pytest.mark.parametrize("name", ["chrf", "bleu", "exact_match", "rouge"])
def test_the_best_reference_counts(name: str) -> None:
    measure, text = build("measure", name), [Prediction("a dog runs home", 0.0)]
    one = Results([Example(("?",), "x", alternatives=("a dog runs home",))], text)
    assert measure.each(one)[0] == pytest.approx(1 if name == "exact_match" else 100)


def test_the_best_metric_comes_first() -> None:
    found = MetricSet(["exact_match", "perplexity", "chrf"], "chrf").each(results(*texts))
    assert list(found) == ["chrf", "exact_match"]
    assert found["exact_match"] == [0.0, 1.0, 0.0]
