from itertools import combinations
from random import Random

import pytest

from regard.errors import RegardError
from regard.find import build
from regard.measure import Measure, Results
from regard.measure.rouge import Rouge, longest_common
from regard.types import Example, Prediction


def results(*pairs: tuple[str, str]) -> Results:
    """(target, written)"""
    return Results([Example(("?",), target) for target, _ in pairs], [Prediction(text, 0.0) for _, text in pairs])


def test_by_hand():
    """Lin 2004's own example (section 3.1): police killed the gunman / police kill the gunman / the gunman kill police.

    Words in common are police, the, gunman for both: 2·3 / (4 + 4). "the gunman" is the only pair in common, of three
    and three. The longest subsequences are "police the gunman" (3) and "the gunman" (2).
    """
    target = "police killed the gunman"
    found = Rouge()(results((target, "police kill the gunman")))
    assert found["rouge1"] == pytest.approx(75)
    assert found["rouge2"] == pytest.approx(100 / 3)
    assert found["rougeL"] == pytest.approx(75)
    assert found["rouge"] == pytest.approx((75 + 100 / 3 + 75) / 3)
    assert Rouge()(results((target, "the gunman kill police")))["rougeL"] == pytest.approx(50)


def test_precision_and_recall_differ():
    """The second a finds none: P = 2/3, R = 2/4, F1 = 4/7. Of the pairs aa, ab and ab, bc, cd one is common."""
    found = Rouge()(results(("a b c d", "a a b")))
    assert found["rouge1"] == pytest.approx(100 * 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert found["rouge2"] == pytest.approx(100 * 2 / 5)
    assert found["rougeL"] == pytest.approx(100 * 4 / 7)


def test_the_mean_over_texts():
    one, two = ("a b", "a b"), ("a b", "c")
    assert Rouge()(results(one, two))["rouge1"] == pytest.approx(50)
    assert Rouge()(results(one))["rouge1"] == 100


def test_case_and_signs_do_not_count():
    found = Rouge()(results(("The cat's 2 hats.", "the CAT s, 2-hats!")))
    assert found["rougeL"] == found["rouge2"] == 100


def test_other_scripts():
    """As rouge-score does, ü parts words unless told otherwise."""
    assert Rouge()(results(("für", "f r")))["rouge1"] == 100
    assert Rouge()(results(("кот", "кот")))["rouge1"] == 0
    assert Rouge(unicode=True)(results(("für", "f r")))["rouge1"] == 0
    assert Rouge(unicode=True)(results(("кот спит", "Кот спит")))["rouge2"] == 100


def test_nothing_in_common_or_nothing_at_all():
    for pair in (("a b", "c d"), ("", ""), ("a", ""), ("", "a"), ("...", "...")):
        found = Rouge()(results(pair))
        assert [found[name] for name in ("rouge", "rouge1", "rouge2", "rougeL")] == [0, 0, 0, 0]
    assert Rouge()(results(("a", "a")))["rouge2"] == 0, "one word has no pairs"


def subsequences(words: str) -> set[tuple[str, ...]]:
    return {chosen for n in range(len(words) + 1) for chosen in combinations(words, n)}


def test_the_longest_common_subsequence_is_the_longest():
    random = Random(0)
    for _ in range(200):
        one, other = ("".join(random.choices("abc", k=random.randint(0, 7))) for _ in range(2))
        longest = max(len(words) for words in subsequences(one) & subsequences(other))
        assert longest_common(one, other) == longest_common(other, one) == longest


def test_it_is_a_measure():
    measure = build("measure", "rouge")
    assert isinstance(measure, Measure)
    assert measure.better == "higher"
    found = measure(results(("a", "a")))
    assert next(iter(found)) == "rouge"
    assert found["rouge_variant"] == "f1, lower-cased, words [a-z0-9]+, no stemming"
    with pytest.raises(RegardError, match="no examples"):
        measure(results())


def several(text: str, target: str, *more: str) -> Results:
    return Results([Example(("?",), target, alternatives=more)], [Prediction(text, 0.0)])


def test_the_best_of_several_references_by_hand():
    """Lin's example against both: words 1 by the second, pairs 1/3 by the first and 0 by the second."""
    found = Rouge()(several("police kill the gunman", "police killed the gunman", "gunman kill police the"))
    assert found["rouge1"] == pytest.approx(100)
    assert found["rouge2"] == pytest.approx(100 / 3)
    assert found["rougeL"] == pytest.approx(75)


def test_another_reference_never_lowers_it():
    random = Random(3)
    for _ in range(100):
        text, *references = (" ".join(random.choices("abcd", k=random.randint(1, 6))) for _ in range(4))
        found = [Rouge()(several(text, *references[:n])) for n in (1, 2, 3)]
        for name in ("rouge", "rouge1", "rouge2", "rougeL"):
            assert found[0][name] <= found[1][name] <= found[2][name]
