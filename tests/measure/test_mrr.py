"""Mean reciprocal rank: by hand."""

import pytest

from regard.measure import Results
from regard.measure.mrr import Mrr
from regard.types import Example, Prediction


def test_by_hand() -> None:
    """Ranks 1, 3 and none: (1 + 1/3 + 0) / 3."""
    ranked = Prediction("a", 0.0, others=(Prediction("b", 0.0), Prediction("c", 0.0)))
    examples = [Example(("d", "q"), target) for target in ("A", "c", "z")]
    assert Mrr()(Results(examples, [ranked] * 3)) == {"mrr": pytest.approx(4 / 9)}
