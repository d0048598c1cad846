"""DistinctIntents by hand."""

import pytest
from suggestions import SILENT, TOLD, results

from regard.measure.distinct_intents import DistinctIntents


def test_by_hand() -> None:
    assert DistinctIntents()(results(TOLD)) == pytest.approx({"distinct_intents": (3 + 2 + 1 + 1) / 4})


def test_without_anything_to_count() -> None:
    assert DistinctIntents()(results([])) == {}
    assert DistinctIntents()(SILENT) == {}
