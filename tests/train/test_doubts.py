"""A model that has not learned says so, and a good one says nothing."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from regard.fields.number import Number
from regard.fields.tags import Tags
from regard.fields.tokens import Tokens
from regard.measure import Results
from regard.train.doubts import doubts, uniform
from regard.train.task import Encoded
from regard.types import Example, Prediction


def examples(targets: list[str]) -> list[Example]:
    return [Example((f"input {number}",), target) for number, target in enumerate(targets)]


def results(targets: list[str], said: list[str], nats: float = 0.0, tokens: int = 0) -> Results:
    return Results(examples(targets), [Prediction(text, 0.0) for text in said], nats, tokens)


labels, numbers = SimpleNamespace(target=Tags()), SimpleNamespace(target=Number(1, 5))
texts = SimpleNamespace(
    target=Tokens(),
    said=lambda item: item.target,
    items=lambda some: [Encoded(([1],), [int(word) for word in one.target.split()], (1, 2)) for one in some],
)
alone = SimpleNamespace(target=None, items=texts.items, said=texts.said)  # a language model, which is only read
half = ["a", "b"] * 20
mostly = ["a", "a", "a", "b"] * 10


def found(task: Any, made: Results, epochs: float | None = None) -> list[str]:
    return doubts(task, made, made.examples, epochs)


def test_labels() -> None:
    assert found(labels, results(half, half)) == []
    assert found(labels, results(mostly, ["a"] * 40)) == ["the same prediction for all 40 inputs"]
    said = ["a", "b", "a", "a"] * 10
    assert found(labels, results(mostly, said)) == [
        "accuracy 50.0%; always predicting the most frequent label gives 75.0%"
    ]
    assert found(labels, results(["a"] * 40, ["a"] * 40)) == []  # there is nothing else to say
    tags = ["a a b", "b a a"] * 20
    assert found(labels, results(tags, tags)) == []
    assert found(labels, results(tags, ["b b a", "a b b"] * 20)) == [
        "accuracy 0.0%; always predicting the most frequent label gives 66.7%"
    ]
    assert found(labels, results(half[:6], ["a"] * 6)) == []  # too few to say anything


def test_numbers() -> None:
    true = ["1.0", "3.0", "5.0", "2.0"] * 10
    assert found(numbers, results(true, ["1.5", "2.5", "4.5", "2.0"] * 10)) == []
    [line] = found(numbers, results(true, ["2.75"] * 40))
    assert line == "mean squared error 2.19; always predicting the mean gives 2.19"


def test_texts() -> None:
    true = [f"{a} {b}" for a in range(10) for b in range(10)]
    low, high = 0.5 * 200, 2.4 * 200
    assert found(texts, results(true, true, low, 200)) == []
    assert found(texts, results(true, ["1 1"] * 50 + ["2 2"] * 50, low, 200)) == [
        "only 2 different predictions for 100 inputs"
    ]
    alike, frequent = found(texts, results(true, ["1 1"] * 100, high, 200))
    assert alike == "the same prediction for 100 inputs"
    assert frequent.startswith("perplexity 11.02 per token; token frequencies alone give 10.0")
    assert found(alone, Results(examples(true), (), low, 200)) == []  # nothing is answered, only read
    assert len(found(alone, Results(examples(true), (), high, 200))) == 1
    assert len(found(alone, Results(examples(true), (), math.inf, 200))) == 1


def test_few_targets_have_few_answers() -> None:
    true = ["1 2", "3 4"] * 50
    assert found(texts, results(true, true, 10.0, 200)) == []


def test_less_than_an_epoch() -> None:
    good = results(half, half)
    assert found(labels, good, 0.25) == ["the model has seen only 25% of the training data"]
    assert found(labels, good, 1.0) == []


@pytest.mark.parametrize(("weights", "even"), [(np.full((3, 5), 0.2), True), (np.eye(5), False)])
def test_weights(weights: Any, even: bool) -> None:
    looks = [Prediction("x", 0.0, look=SimpleNamespace(weights=one)) for one in (weights, weights[None])]
    assert len(uniform(looks)) == even
    assert uniform([Prediction("x", 0.0)]) == []
    assert uniform([Prediction("x", 0.0, look=SimpleNamespace(weights=np.full((3, 2), 0.5)))]) == []  # too short
