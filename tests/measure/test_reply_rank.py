"""ReplyRank by hand."""

import pytest
from suggestions import SILENT, TOLD, results

from regard.measure.reply_rank import ReplyRank


def test_by_hand() -> None:
    assert ReplyRank()(results(TOLD)) == pytest.approx({"mrr": (1 + 1 / 4 + 1 / 2 + 1 / 5) / 4, "recall_at_3": 2 / 4})


def test_without_anything_to_count() -> None:
    assert ReplyRank()(results([])) == {}
    assert ReplyRank()(SILENT) == {}
