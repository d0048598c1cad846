"""Word error rate: jiwer's published examples."""

import pytest

from regard.measure import Results
from regard.measure.wer import Wer
from regard.types import Example, Prediction


def results(*pairs: tuple[str, str]) -> Results:
    """Of (reference, hypothesis), as jiwer.wer takes them."""
    return Results([Example(("a",), wanted) for wanted, _ in pairs], [Prediction(said, 0.0) for _, said in pairs])


@pytest.mark.parametrize(
    ("pairs", "rate"),
    [
        ([("hello world", "hello duck")], 0.5),  # jiwer's README
        ([("hello world", "hello duck"), ("i like monty python", "i like python")], 2 / 6),  # summed, then divided
        ([("one two three", "one three")], 1 / 3),
        ([("one", "one two three")], 2.0),
        ([("X", "X X Y Y")], 3.0),
        ([("same text", "same  text")], 0.0),
    ],
)
def test_examples_of_jiwer(pairs: list[tuple[str, str]], rate: float) -> None:
    assert Wer()(results(*pairs)) == {"wer": pytest.approx(rate)}


def test_each_and_the_nearest_reference() -> None:
    example = Example(("a",), "a b c", alternatives=("a d",))
    found = Results([example], [Prediction("a d", 0.0)])
    assert Wer()(found) == {"wer": 0.0}
    assert Wer().each(results(("a b", "a c"), ("a", "a"))) == [0.5, 0.0]
    assert Wer().better == "lower"
