"""NDCG@k by hand."""

import pytest
from rankings import three

from regard.measure.ndcg import Ndcg


def test_by_hand() -> None:
    """Places 1, 3 and 11 of a list of ten: gains 1, 1 / log2(4) and 0."""
    assert Ndcg()(three()) == {"ndcg": pytest.approx(1.5 / 3)}
    assert Ndcg(k=2).each(three()) == [1.0, 0.0, 0.0]
