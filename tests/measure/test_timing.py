"""Whether attention lies where a letter is heard: by hand."""

import numpy as np
import pytest

from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.measure.timing import Timing
from regard.regions import Interval, Token
from regard.types import Example, Grounding, Prediction

times = tuple(Interval(n / 2, (n + 1) / 2) for n in range(4))


def test_numbers_by_hand() -> None:
    """A is heard from 0.6 to 0.9 s, with 0.1 s on either side all of the second of four half seconds; B at 1.5 to 1.9,
    with them 0.2 of the third and all of the fourth."""
    weights = np.array([[0.25, 0.5, 0.25, 0.0], [0.5, 0.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]])
    rows = (Token("A", 0, 1), Token("B", 1, 2), Token("</s>", 2, 2))
    look = AttentionMap(weights, rows, times)
    heard = (Grounding(0, 1, Interval(0.6, 0.9)), Grounding(1, 2, Interval(1.5, 1.9)))
    example, read = Example(("a",), "AB", grounding=heard), Prediction("AB", 0.0, look)
    found = Timing()(Results([example], [read], read=[read]))
    assert found == {
        "timing": 0.5,
        "timing_mass": pytest.approx((0.5 + 0.5 * 0.2) / 2),
        "timing_chance": pytest.approx((0.5 + 0.6) / 2 / 2),
    }
    assert Timing()(Results([example], [read])) == {}
    assert Timing()(Results([example], [read], read=[Prediction("AB", 0.0)])) == {}
