import pytest

from regard.errors import RegardError
from regard.find import build
from regard.measure import Measure, Results
from regard.measure.exact_match import ExactMatch
from regard.types import Example, Prediction


def results(*pairs: tuple[str, str]) -> Results:
    return Results([Example(("?",), target) for target, _ in pairs], [Prediction(text, 0.0) for _, text in pairs])


def test_by_hand():
    assert ExactMatch()(results(("a", "a"), ("b", "B"), ("c", "c "), ("", ""))) == {"exact_match": 0.5}
    assert ExactMatch()(results(("a", "b"))) == {"exact_match": 0.0}


@pytest.mark.parametrize("name", ["exact_match", "bleu", "chrf", "alignment"])
def test_nothing_to_measure_is_said(name):
    with pytest.raises(RegardError, match="no examples"):
        build("measure", name)(results())


@pytest.mark.parametrize("name", ["exact_match", "bleu", "chrf", "alignment"])
def test_a_missing_prediction_is_said(name):
    with pytest.raises(RegardError, match=r"1 predictions; expected one for each example, 2"):
        build("measure", name)(Results([Example(("?",), "a")] * 2, [Prediction("a", 0.0)]))


@pytest.mark.parametrize("name", ["exact_match", "token_accuracy", "bleu", "chrf", "perplexity", "alignment"])
def test_every_measure_is_one(name):
    measure = build("measure", name)
    assert isinstance(measure, Measure)
    assert measure.better == ("lower" if name == "perplexity" else "higher")
    found = measure(Results([Example(("?",), "the cat")], [Prediction("the cat", 0.0)], nats=1.0, tokens=2, right=1))
    assert list(found)[:1] == ([name] if name != "alignment" else [])


def test_any_reference_will_do():
    examples = [Example(("?",), "a", alternatives=("b", "c")), Example(("?",), "a")]
    texts = [Prediction("c", 0.0), Prediction("c", 0.0)]
    assert ExactMatch()(Results(examples, texts)) == {"exact_match": 0.5}
