"""ReplyCoverage by hand."""

import pytest
from suggestions import SILENT, TOLD, results

from regard.measure.reply_coverage import ReplyCoverage


def test_by_hand() -> None:
    assert ReplyCoverage()(results(TOLD)) == pytest.approx({"coverage": 4 / 5})


def test_without_anything_to_count() -> None:
    assert ReplyCoverage()(results([])) == {}
    assert ReplyCoverage()(SILENT) == {}
