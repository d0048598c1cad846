"""What is said of differences: clear, within the noise of seeds or of test examples, or nothing."""

from typing import Any

import pytest

from regard.compare.conclusions import Conclusion, Row, conclusions

right, wrong = [1.0] * 90 + [0.0] * 10, [1.0] * 60 + [0.0] * 40


def row(name: str, test: list[float], each: list[float] | None = None, metric: str = "accuracy", **more: Any) -> Row:
    seeds = len(test)
    lists = {"train": test, "valid": test, "epochs": [3.0] * seeds, "tested": [100] * seeds, "held": 100}
    scores = None if each is None else (metric, [each] * seeds)
    return Row(name, **{"best": "accuracy", **lists, "chosen": [], "measures": [], "parameters": 1, **more},
               test=test, each=scores)  # fmt: skip


def only(a: Row, b: Row) -> Conclusion:
    [one] = conclusions([a, b])
    return one


def test_a_clear_difference() -> None:
    one = only(row("a", [0.90, 0.91, 0.89], right), row("b", [0.60, 0.61, 0.59], wrong))
    assert one.verdict == "better"
    assert one.text == (
        "a is better than b: accuracy 0.9 against 0.6, difference 0.3 (95 % interval 0.28 to 0.32) over 3 seeds."
    )


def test_within_the_noise_of_the_seeds() -> None:
    one = only(row("a", [0.9, 0.5, 0.8], right), row("b", [0.6, 0.7, 0.5], wrong))
    assert one.verdict == "noise"
    assert one.text.startswith("The difference between a and b is within the noise of 3 seeds: difference 0.13 (95 %")


def test_within_the_noise_of_the_test_set() -> None:
    """Always the same scores, but on 100 examples of which one more is right."""
    one = only(row("a", [0.61, 0.61], [1.0] * 61 + [0.0] * 39), row("b", [0.6, 0.6], wrong))
    assert one.verdict == "noise"
    assert one.text.startswith("The difference between a and b is within the noise of 100 test examples: difference")


def test_another_metric_by_example_is_named_and_has_its_own_direction() -> None:
    errors = ([0.1, 0.3] * 50, [0.5, 0.6] * 50)
    best = {"best": "pearson", "metric": "mse"}
    a, b = row("a", [0.9, 0.91], errors[0], **best), row("b", [0.6, 0.61], errors[1], **best)
    assert only(a, b).verdict == "better"
    a, b = row("a", [0.9, 0.91], errors[1], **best), row("b", [0.6, 0.61], errors[0], **best)
    assert only(a, b).verdict == "noise"
    assert "noise of 100 test examples: mse by example: difference 0.35" in only(a, b).text


def test_one_seed() -> None:
    one = only(row("a", [0.9], right), row("b", [0.6], wrong))
    assert one.verdict == "none"
    assert one.text == (
        "a is better than b on these 100 test examples: difference 0.3 (95 % interval 0.21 to 0.39). "
        "But one seed may be luck: use --seeds 3 or more."
    )
    assert only(row("a", [0.9], right), row("b", [0.9], right)).verdict == "noise"
    blind = only(row("a", [0.9]), row("b", [0.6]))
    assert blind.text == "No conclusion about a and b: one seed may be luck: use --seeds 3 or more."


def test_less_than_one_epoch_is_no_ground_for_a_conclusion() -> None:
    rows = [row("a", [0.9, 0.91], right, epochs=[0.4, 0.5]), row("b", [0.8, 0.81]), row("c", [0.2, 0.21])]
    found = conclusions(rows)
    assert [(one.verdict, one.best, one.other) for one in found] == [("better", "b", "c"), ("none", "", "a")]
    assert found[1].text.startswith("No conclusion about a: it saw only 45% of the training data. Give it at least one")
    assert [one.verdict for one in conclusions(rows[:1])] == ["none"]


@pytest.mark.parametrize("tested", [[100, 40], [40, 40]])
def test_other_test_examples_are_not_paired(tested: list[int]) -> None:
    a, b = row("a", [0.9, 0.91], right, tested=tested), row("b", [0.6, 0.61], wrong)
    assert only(a, b).examples is None
    assert only(a, b).verdict == "better"
