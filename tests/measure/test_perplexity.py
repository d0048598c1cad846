import math

import pytest

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.perplexity import Perplexity


def test_by_hand():
    """Two tokens of probability 1/2 and 1/8: the mean is log 4, so the model hesitates between four."""
    found = Perplexity()(Results([], [], nats=math.log(2) + math.log(8), tokens=2))
    assert found == {"perplexity": pytest.approx(4.0)}


def test_too_much_for_a_float():
    assert Perplexity()(Results([], [], nats=1e6, tokens=1)) == {"perplexity": math.inf}


def test_no_tokens():
    with pytest.raises(RegardError, match="no target tokens"):
        Perplexity()(Results([], [], nats=1.0))
