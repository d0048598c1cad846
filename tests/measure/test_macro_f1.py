import random

import pytest
from sklearn.metrics import f1_score

from regard.measure import Results
from regard.measure.macro_f1 import MacroF1
from regard.types import Example, Prediction


def measured(true: str, predicted: str) -> float:
    """Labels of one letter."""
    examples = [Example(("?",), label) for label in true]
    found = MacroF1()(Results(examples, [Prediction(label, 0.0) for label in predicted]))
    assert list(found) == ["macro_f1"]
    return float(found["macro_f1"])


def test_by_hand():
    """a: 2 right, 1 missed, 1 too many: 4/6. b: 1 right, 1 missed, 1 too many: 2/4. The mean is 7/12."""
    assert measured("aaabb", "aabab") == pytest.approx(7 / 12)
    assert measured("ab", "ab") == 1.0
    assert measured("ab", "ba") == 0.0


def test_a_rare_label_counts_as_much():
    """Nine of ten are right, and yet: a has 18/19, b nothing."""
    assert measured("aaaaaaaaab", "aaaaaaaaaa") == pytest.approx(9 / 19)


def test_a_label_that_is_never_true_counts():
    assert measured("aa", "ac") == pytest.approx((2 / 3 + 0) / 2)


def test_as_scikit_learn_has_it():
    draw = random.Random(1)
    true = "".join(draw.choice("aaab") if draw.random() < 0.7 else draw.choice("bcd") for _ in range(200))
    predicted = "".join(label if draw.random() < 0.6 else draw.choice("abcde") for label in true)
    expected = f1_score(list(true), list(predicted), average="macro", zero_division=0)
    assert measured(true, predicted) == pytest.approx(float(expected), abs=1e-12)
