"""Mean reciprocal rank by hand."""

import pytest
from rankings import three

from regard.measure.mrr import Mrr


def test_by_hand() -> None:
    """Places 1, 3 and 11."""
    assert Mrr()(three()) == {"mrr": pytest.approx((1 + 1 / 3 + 1 / 11) / 3)}
    assert Mrr().each(three())[1] == pytest.approx(1 / 3)
