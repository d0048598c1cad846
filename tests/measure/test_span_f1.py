import pytest

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.span_f1 import SpanF1, spans
from regard.types import Example, Prediction


def measured(*pairs: tuple[str, str]) -> dict[str, float | str]:
    examples = [Example(("?",), target) for target, _ in pairs]
    return SpanF1()(Results(examples, [Prediction(text, 0.0) for _, text in pairs]))


def test_by_hand():
    """True: PER 0–1, LOC 3, PER 0 of the second. Predicted: PER 0–1 (right), ORG 3 (wrong kind), PER 0–1 (too long)
    and LOC 2 (nothing there). So 1 of 4 is right, 1 of 3 found, and F1 = 2 · ¼ · ⅓ / (¼ + ⅓) = 2/7."""
    found = measured(("B-PER I-PER O B-LOC", "B-PER I-PER O B-ORG"), ("B-PER O O", "B-PER I-PER B-LOC"))
    assert found == {
        "span_f1": pytest.approx(2 / 7),
        "span_precision": pytest.approx(1 / 4),
        "span_recall": pytest.approx(1 / 3),
    }
    assert all(type(number) is float for number in found.values())
    assert next(iter(found)) == "span_f1"


def test_all_right():
    assert measured(("B-x I-x B-x O", "B-x I-x B-x O"))["span_f1"] == 1.0, "a B- begins a span beside another"


def test_a_span_ends_with_its_sentence():
    assert measured(("O B-x", "O B-x"), ("I-x O", "I-x O")) == measured(("O B-x I-y O", "O B-x I-y O"))
    assert measured(("O B-x", "O B-x"), ("I-x O", "O O"))["span_recall"] == 0.5


def test_nothing_predicted_is_zero_without_a_warning():
    """Warnings are errors in these tests."""
    nothing = {"span_f1": 0.0, "span_precision": 0.0, "span_recall": 0.0}
    assert measured(("B-x O", "O O")) == nothing
    assert measured(("B-x O", "NN VB"))["span_f1"] == 0.0


@pytest.mark.parametrize("target", ["DET NOUN VERB", "O O O", "BIG ITEM O", ""])
def test_tags_that_are_no_spans_give_nothing(target: str):
    assert measured((target, target)) == {}


def test_as_many_tags_must_be_predicted():
    with pytest.raises(RegardError, match="example 1: 1 labels were predicted; expected one for each true label, 2"):
        measured(("B-x O", "B-x"))


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("B-x I-x O", {("x", 0, 2)}),
        ("I-x I-x I-y", {("x", 0, 2), ("y", 2, 3)}),  # begun without B-, and by another kind
        ("B-x B-x I-x", {("x", 0, 1), ("x", 1, 3)}),
        ("B-x E-x I-x", {("x", 0, 2), ("x", 2, 3)}),  # E- is the last of its span
        ("S-x E-y S-x", {("x", 0, 1), ("y", 1, 2), ("x", 2, 3)}),
        ("B-a-b I-a-b", {("a-b", 0, 2)}),  # a kind may hold a dash
        ("BIG NOUN -x B", set()),
    ],
)
def test_spans(labels: str, found: set[tuple[str, int, int]]):
    assert spans(labels.split()) == found
