"""Trigger by hand."""

import pytest
from suggestions import SILENT, TOLD, results

from regard.measure.trigger import Trigger


def test_by_hand() -> None:
    assert Trigger()(results(TOLD)) == pytest.approx(
        {"trigger": 2 * 2 / (4 + 3), "trigger_precision": 2 / 4, "trigger_recall": 2 / 3}
    )


def test_without_anything_to_count() -> None:
    assert Trigger()(results([])) == {}
    assert Trigger()(SILENT) == {"trigger": 0, "trigger_precision": 0, "trigger_recall": 0}
