import pytest

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.tag_accuracy import TagAccuracy, labels_of
from regard.types import Example, Prediction


def results(*pairs: tuple[str, str], where: str = "") -> Results:
    examples = [Example(("?",), target, where) for target, _ in pairs]
    return Results(examples, [Prediction(text, 0.0) for _, text in pairs])


def test_by_hand():
    """2 of 3 and 1 of 1: every label counts the same, not every sentence."""
    assert TagAccuracy()(results(("D N V", "D V V"), ("N", "N"))) == {"tag_accuracy": 0.75}


def test_only_spaces_part_labels():
    assert labels_of(results(("a\u00a0b  c", "a\u00a0b x"))) == ([["a\u00a0b", "c"]], [["a\u00a0b", "x"]])


def test_as_many_labels_must_be_predicted():
    with pytest.raises(RegardError, match=r"test.tsv:3: 1 labels were predicted; expected one for each true label, 2"):
        TagAccuracy()(results(("D N", "D"), where="test.tsv:3"))
    with pytest.raises(RegardError, match="example 2: 2 labels"):
        TagAccuracy()(results(("D", "D"), ("D", "D N")))


def test_no_labels():
    with pytest.raises(RegardError, match="no labels to measure on"):
        TagAccuracy()(results(("", "")))
