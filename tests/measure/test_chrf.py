import pytest
import sacrebleu

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.chrf import Chrf
from regard.types import Example, Prediction


def results(*pairs: tuple[str, str]) -> Results:
    return Results([Example(("?",), target) for target, _ in pairs], [Prediction(text, 0.0) for _, text in pairs])


def test_by_hand():
    """Of "abc" in "abcd", every n-gram is right (n = 1, 2, 3) and 3/4, 2/3, 1/2 of the target's are found.

    The target has fours and the prediction has none, so the fours are left out. Precision is 1, recall
    the mean 23/36, and F with recall twice as dear is 5·P·R / (4·P + R).
    """
    recall = (3 / 4 + 2 / 3 + 1 / 2) / 3
    found = Chrf()(results(("abcd", "abc")))
    assert found["chrf"] == pytest.approx(100 * 5 * recall / (4 + recall))
    assert Chrf()(results(("das ist gut", "das ist gut")))["chrf"] == pytest.approx(100)
    assert Chrf()(results(("abc", "xyz")))["chrf"] == 0


def test_options_and_signature():
    pair = ("Das ist gut", "das ist schlecht")
    assert Chrf(lower=True)(results(pair))["chrf"] > Chrf()(results(pair))["chrf"]
    assert "case:mixed" in Chrf()(results(pair))["chrf_signature"]
    assert "|nc:6|nw:0|" in Chrf()(results(pair))["chrf_signature"]
    assert "|nc:6|nw:2|" in Chrf(word_order=2)(results(pair))["chrf_signature"]
    with pytest.raises(RegardError, match="word_order"):
        Chrf(word_order=-1)


def test_the_best_of_several_references():
    """The second is the text itself; where there is no second, the first counts alone."""
    texts, firsts = ["abcdef gh", "kitten"], ["xyzzy", "sitting"]
    both = [Example(("?",), "xyzzy", alternatives=("abcdef gh",)), Example(("?",), "sitting")]
    found = Chrf()(Results(both, [Prediction(text, 0.0) for text in texts]))
    assert found["chrf"] == pytest.approx(sacrebleu.corpus_chrf(texts, [firsts, ["abcdef gh", "sitting"]]).score)
    assert str(found["chrf_signature"]).startswith("nrefs:var|")
    assert Chrf()(Results(both[:1], [Prediction(texts[0], 0.0)]))["chrf"] == pytest.approx(100)
