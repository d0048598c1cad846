import math
import subprocess
import sys

import pytest
import sacrebleu

from regard.errors import RegardError
from regard.measure import Results
from regard.measure.bleu import Bleu
from regard.types import Example, Prediction


def results(*pairs: tuple[str, str]) -> Results:
    return Results([Example(("?",), target) for target, _ in pairs], [Prediction(text, 0.0) for _, text in pairs])


def test_by_hand():
    """Of "a b c d e f" against "a b c d e g": 5/6 words, 4/5 pairs, 3/4 triples, 2/3 fours; lengths are alike."""
    found = Bleu()(results(("a b c d e g", "a b c d e f")))
    assert found["bleu"] == pytest.approx(100 * math.pow(5 / 6 * 4 / 5 * 3 / 4 * 2 / 3, 1 / 4))
    # One word short: all n-grams are right, and the penalty is exp(1 − 6/5).
    assert Bleu()(results(("a b c d e f", "a b c d e")))["bleu"] == pytest.approx(100 * math.exp(1 - 6 / 5))


def test_the_counts_are_of_the_whole_set():
    """1-grams 8/10, 2-grams 6/8, 3-grams 4/6, 4-grams 2/4 over both sentences, not a mean of two BLEUs."""
    found = Bleu()(results(("a b c d e", "a b c d e"), ("a b c d e", "a b c x y")))
    assert found["bleu"] == pytest.approx(100 * math.pow(8 / 10 * 6 / 8 * 4 / 6 * 2 / 4, 1 / 4))


def test_options_and_signature():
    pair = ("A B C D", "a b c d")
    plain, lower = Bleu()(results(pair)), Bleu(lower=True)(results(pair))
    assert plain["bleu"] < 1 < lower["bleu"] == pytest.approx(100)
    assert "case:mixed|eff:no|tok:13a" in plain["bleu_signature"]
    assert "case:lc|eff:no|tok:13a" in lower["bleu_signature"]
    assert Bleu("char")(results(("abcd", "abcd")))["bleu"] == pytest.approx(100)
    with pytest.raises(RegardError, match="did you mean 'intl'"):
        Bleu("intel")(results(pair))


def test_sacrebleu_is_loaded_only_when_needed():
    code = "import sys, regard.measure.bleu, regard.measure.chrf; sys.exit('sacrebleu' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def several(*rows: tuple[str, ...]) -> Results:
    """(written, target, alternatives …)"""
    examples = [Example(("?",), target, alternatives=tuple(more)) for _, target, *more in rows]
    return Results(examples, [Prediction(text, 0.0) for text, *_ in rows])


def test_several_references_by_hand():
    """Every n-gram of "a b c d e f" is in one reference or the other, though neither is the same text."""
    found = Bleu()(several(("a b c d e f", "a b c d e g", "x b c d e f")))
    assert found["bleu"] == pytest.approx(100)
    assert str(found["bleu_signature"]).startswith("nrefs:2|")
    # The reference of the nearest length counts for the penalty: 5 words, not 8.
    assert Bleu()(several(("a b c d e", "a b c d e f g h", "a b c d e")))["bleu"] == pytest.approx(100)


def test_as_many_references_as_each_has():
    """As sacrebleu counts them; a reference given twice says nothing new, so it may fill up the others."""
    rows = [
        ("the cat sat on the mat", "the cat sat on a mat", "a cat was on the mat", "the mat has a cat on it"),
        ("he ran home very fast", "he ran very fast"),
        ("no one was there today", "nobody was there today", "today no one was there"),
    ]
    found = Bleu()(several(*rows))
    filled = [[row[1:][n] if n < len(row) - 1 else row[1] for row in rows] for n in range(3)]
    expected = sacrebleu.corpus_bleu([row[0] for row in rows], filled).score
    assert found["bleu"] == pytest.approx(expected)
    assert str(found["bleu_signature"]).startswith("nrefs:var|")
    assert found["bleu"] > Bleu()(several(*(row[:2] for row in rows)))["bleu"]
