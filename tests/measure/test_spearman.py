import pytest

from regard.measure import Results
from regard.measure.spearman import Spearman
from regard.types import Example, Prediction


def measured(true: list[float], predicted: list[float]) -> float:
    examples = [Example(("?",), str(number)) for number in true]
    found = Spearman()(Results(examples, [Prediction(str(number), 0.0) for number in predicted]))
    assert list(found) == ["spearman"]
    return float(found["spearman"])


def test_by_hand():
    """Ranks 1 2 3 4 and 2 1 3 4: 1 − 6 Σ d² / (n (n² − 1)) = 1 − 6 · 2 / 60."""
    assert measured([1, 2, 3, 4], [0.5, 0.1, 7, 900]) == pytest.approx(0.8)


def test_equal_numbers_share_the_mean_of_their_ranks():
    # Ranks 1.5 1.5 3 and 1 2 3: 1.5 of √1.5 · √2.
    assert measured([1, 1, 2], [1, 2, 3]) == pytest.approx(1.5 / 3**0.5)


def test_only_the_order_counts():
    assert measured([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1.0)
    assert measured([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1.0)


def test_what_never_changes_follows_nothing():
    assert measured([1, 2, 3], [0.1, 0.1, 0.1]) == 0.0
    assert measured([3, 3, 3], [1, 2, 3]) == 0.0
