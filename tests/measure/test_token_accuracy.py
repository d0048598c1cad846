import pytest

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.token_accuracy import TokenAccuracy


def test_by_hand():
    assert TokenAccuracy()(Results([], [], tokens=8, right=6)) == {"token_accuracy": 0.75}


def test_no_tokens():
    with pytest.raises(RegardError, match="no target tokens"):
        TokenAccuracy()(Results([], []))
