import pytest

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.mse import Mse
from regard.types import Example, Prediction


def test_by_hand():
    """Off by 1, 0.5 and 0: (1 + 0.25 + 0) / 3."""
    examples = [Example(("?",), text) for text in ("3", "4.5", "1")]
    found = Mse()(Results(examples, [Prediction(text, 0.0) for text in ("4", "4", "1.0000")]))
    assert found == {"mse": pytest.approx(1.25 / 3)}


def test_what_is_no_number_is_said():
    with pytest.raises(RegardError, match="example 1: prediction 'four'; expected a number"):
        Mse()(Results([Example(("?",), "4")], [Prediction("four", 0.0)]))
