import math
import random

import pytest
from scipy.stats import pearsonr

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.pearson import Pearson, pearson
from regard.types import Example, Prediction


def results(true: list[float | str], predicted: list[float | str], where: str = "") -> Results:
    examples = [Example(("?",), str(number), where) for number in true]
    return Results(examples, [Prediction(str(number), 0.0) for number in predicted])


def test_by_hand():
    """Around their means −1, 0, 1 and −1, 1, 0: 1 of √2 · √2."""
    assert Pearson()(results([1, 2, 3], [2.0, 4.0, 3.0])) == {"pearson": pytest.approx(0.5)}


def test_scale_and_place_do_not_matter_but_the_direction_does():
    assert pearson([1.0, 2.0, 4.0], [10.0, 20.0, 40.0]) == pytest.approx(1.0)
    assert pearson([1.0, 2.0, 4.0], [-1.0, -2.0, -4.0]) == pytest.approx(-1.0)
    assert pearson([1e200, 2e200, 4e200], [1e-200, 2e-200, 4e-200]) == pytest.approx(1.0), "too large to be squared"
    numbers = [random.Random(0).random() for _ in range(1000)]
    assert pearson(numbers, numbers) <= 1.0


@pytest.mark.parametrize("constant", [[3.0] * 3, [0.1] * 3, [0.1 + 0.2] * 3])
def test_what_never_changes_follows_nothing(constant):
    """0.1 less the mean of three times 0.1 is not 0 in floating point; it is no signal for all that."""
    assert Pearson()(results([1, 2, 3], constant)) == {"pearson": 0.0}
    assert Pearson()(results(constant, [1, 2, 3])) == {"pearson": 0.0}
    assert Pearson()(results([2], [2])) == {"pearson": 0.0}


def test_as_scipy_has_it():
    draw = random.Random(1)
    true = [draw.uniform(1, 5) for _ in range(200)]
    predicted = [number + draw.gauss(0, 1) for number in true]
    assert pearson(predicted, true) == pytest.approx(float(pearsonr(predicted, true).statistic), abs=1e-12)
    assert not math.isclose(pearson(predicted, true), 1.0, abs_tol=0.05)


def test_what_is_no_number_is_said():
    with pytest.raises(RegardError, match=r"sick.txt:7: target 'high'; expected a number"):
        Pearson()(results(["high"], [3], where="sick.txt:7"))
    for text in ["", "nan", "inf"]:
        with pytest.raises(RegardError, match=f"example 2: prediction '{text}'; expected a number"):
            Pearson()(results([1, 2], [3, text]))
