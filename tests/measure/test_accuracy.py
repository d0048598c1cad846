import pytest

from regard.errors import RegardError
from regard.find import build
from regard.measure import Measure, Results
from regard.measure.accuracy import Accuracy
from regard.types import Example, Prediction

# What each measure of labels, scores and tags needs, and which way is better.
higher = ["accuracy", "tag_accuracy", "pearson", "spearman", "macro_f1", "span_f1"]
lower = ["mse", "loss", "chosen"]
of_predictions = [*higher, "mse"]


def results(*pairs: tuple[str, str]) -> Results:
    return Results([Example(("?",), target) for target, _ in pairs], [Prediction(text, 0.0) for _, text in pairs])


def test_by_hand():
    found = Accuracy()(results(("yes", "yes"), ("no", "yes"), ("maybe", "maybe"), ("no", "No")))
    assert found == {"accuracy": 0.5}


@pytest.mark.parametrize("name", of_predictions)
def test_nothing_to_measure_is_said(name):
    with pytest.raises(RegardError, match="no examples"):
        build("measure", name)(results())


@pytest.mark.parametrize("name", of_predictions)
def test_a_missing_prediction_is_said(name):
    with pytest.raises(RegardError, match=r"1 predictions; expected one for each example, 2"):
        build("measure", name)(Results([Example(("?",), "1")] * 2, [Prediction("1", 0.0)]))


@pytest.mark.parametrize("name", [*higher, *lower])
def test_every_measure_is_one(name):
    measure = build("measure", name)
    assert isinstance(measure, Measure)
    assert measure.better == ("lower" if name in lower else "higher")
    target = "B-x" if name == "span_f1" else "1.5"
    found = measure(Results([Example(("?",), target)], [Prediction(target, 0.0)], nats=1.0, tokens=2, chosen=0.5))
    assert next(iter(found)) == name
    assert all(isinstance(number, float) for number in found.values())
