"""Cloze accuracy: one example by hand."""

from regard.measure import Results
from regard.measure.cloze_accuracy import ClozeAccuracy
from regard.types import Example, Prediction


def test_by_hand() -> None:
    examples = [Example(("d", "q"), "Ada"), Example(("d", "q"), "Bo", alternatives=("cy",)), Example(("d", "q"), "x")]
    found = ClozeAccuracy()(Results(examples, [Prediction(text, 0.0) for text in ("ada", "Cy", "y")]))
    assert found == {"cloze_accuracy": 2 / 3}
