"""BLEU-1 to BLEU-4 of captions, by hand."""

import math

import pytest

from regard.measure import Results
from regard.measure.bleu4 import Bleu4
from regard.types import Example, Prediction


def measured(*rows: tuple[str, tuple[str, ...]]) -> dict[str, float | str]:
    examples = [Example(("picture",), first, alternatives=tuple(others)) for _, (first, *others) in rows]
    return Bleu4()(Results(examples, [Prediction(text, 0.0) for text, _ in rows]))


def test_numbers_by_hand() -> None:
    """Of 5 words 4 are in a reference, of 4 bigrams 3, of 3 trigrams 2, of 2 4-grams 1; a reference is as long."""
    found = measured(("a dog runs on sand", ("A dog runs on grass.", "Dogs, running")))
    precisions = [4 / 5, 3 / 4, 2 / 3, 1 / 2]
    for n in range(1, 5):
        assert found[f"bleu{n}"] == pytest.approx(100 * math.prod(precisions[:n]) ** (1 / n))
    assert next(iter(found)) == "bleu4"


def test_the_set_is_counted_as_a_whole_and_short_captions_pay() -> None:
    """2 of 2 and 1 of 1 words; 3 written where the nearest references have 5: exp(1 − 5/3)."""
    found = measured(("a dog", ("a dog runs", "a dog runs far off")), ("sand", ("the sand",)))
    assert found["bleu1"] == pytest.approx(100 * math.exp(1 - 5 / 3))
    assert found["brevity_penalty"] == pytest.approx(math.exp(1 - 5 / 3))
    assert found["bleu4"] == 0.0
