"""SensitiveAnswered by hand."""

import pytest
from suggestions import SILENT, TOLD, results

from regard.measure.sensitive_answered import SensitiveAnswered


def test_by_hand() -> None:
    assert SensitiveAnswered()(results(TOLD)) == pytest.approx({"sensitive_answered": 1 / 2})


def test_without_anything_to_count() -> None:
    assert SensitiveAnswered()(results([])) == {}
    assert SensitiveAnswered()(SILENT) == {}
