import math

import pytest

from regard.errors import RegardError
from regard.measure import Measure, Results
from regard.measure.perplexity import Perplexity
from regard.measure.word_perplexity import WordPerplexity
from regard.types import Example


def test_by_hand():
    """Two words and an end, one word and an end: five; 5 log 3 nats are three to hesitate between at each."""
    examples = [Example((" the  cat ",), ""), Example(("sat",), "")]
    assert WordPerplexity()(Results(examples, [], nats=5 * math.log(3))) == {"word_perplexity": pytest.approx(3.0)}


def test_targets_come_before_inputs():
    examples = [Example(("a b c d e",), "x y"), Example(("a",), "")]
    assert WordPerplexity()(Results(examples, [], nats=4 * math.log(2)))["word_perplexity"] == pytest.approx(2.0)


def test_the_same_whatever_the_pieces():
    """Over words and ends it is the perplexity of the tokens; over pieces it is not, but the words' stays."""
    examples = [Example(("the cat sat",), "")]
    words, pieces = (Results(examples, [], nats=6.0, tokens=tokens) for tokens in (4, 12))
    assert WordPerplexity()(words)["word_perplexity"] == pytest.approx(Perplexity()(words)["perplexity"])
    assert WordPerplexity()(pieces) == WordPerplexity()(words)
    assert Perplexity()(pieces) != Perplexity()(words)


def test_an_empty_line_is_an_end():
    assert WordPerplexity()(Results([Example(("",), "")], [], nats=math.log(2)))["word_perplexity"] == pytest.approx(2)


def test_too_much_for_a_float():
    assert WordPerplexity()(Results([Example(("a",), "")], [], nats=1e6)) == {"word_perplexity": math.inf}


def test_nothing_to_measure_on():
    with pytest.raises(RegardError, match="no examples"):
        WordPerplexity()(Results([], [], nats=1.0))


def test_it_is_a_measure_to_keep_low():
    assert isinstance(WordPerplexity(), Measure)
    assert WordPerplexity.better == "lower"
