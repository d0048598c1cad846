"""HR@k by hand."""

import pytest
from rankings import three

from regard.measure.hit_rate import HitRate


def test_by_hand() -> None:
    """Places 1, 3 and 11 of a list of ten: two hits of three."""
    assert HitRate()(three()) == {"hit_rate": pytest.approx(2 / 3)}
    assert HitRate(k=1).each(three()) == [1.0, 0.0, 0.0]
