import math

import pytest

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.loss import Loss


def test_by_hand():
    """Truths of probability 1/2 and 1/8: the mean of log 2 and log 8 is log 4."""
    assert Loss()(Results([], [], nats=math.log(2) + math.log(8), tokens=2)) == {"loss": pytest.approx(math.log(4))}


def test_no_tokens():
    with pytest.raises(RegardError, match="no target tokens"):
        Loss()(Results([], [], nats=1.0))
