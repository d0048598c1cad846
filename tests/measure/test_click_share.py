"""ClickShare by hand."""

import pytest
from suggestions import SILENT, TOLD, results

from regard.measure.click_share import ClickShare


def test_by_hand() -> None:
    assert ClickShare()(results(TOLD)) == pytest.approx({"click_share": 1 / 5, "click_share_intent": 2 / 5})


def test_without_anything_to_count() -> None:
    assert ClickShare()(results([])) == {}
    assert ClickShare()(SILENT) == {}
