"""Single features of a feature-wise attention: the right ones, beside the mean of all."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from generation_tasks import made
from regard.api import Model
from regard.errors import RegardError
from regard.look.attention_map import AttentionMap
from regard.look.scene import table
from regard.regions import Token
from regard.tasks._features import fitting, spread
from regard.train.run import Run
from regard.train.task import Ask, Features
from sentence_tasks import both

a, b = Token("a"), Token("b")
# Feature 1 is even, 2 looks at b alone, 3 leans to a: variances 0, 1/4, 1/16.
weights = np.array([[[0.5, 0.0, 0.75], [0.5, 1.0, 0.25]]])
mean = AttentionMap(weights.mean(-1), (Token("yes"),), (a, b), "a b")


@pytest.mark.parametrize(
    ("features", "names"),
    [
        (1, ["feature 2"]),
        (2, ["feature 2", "feature 3"]),
        (9, ["feature 2", "feature 3", "feature 1"]),
        ([3, 1], ["feature 3", "feature 1"]),
        ((3, 8), ["feature 3"]),
    ],
)
def test_those_asked_for_by_hand(features: Features, names: list[str]) -> None:
    (attention_map,) = spread(mean, weights, features)
    assert attention_map.head_names == ("mean", *names)
    assert np.allclose(attention_map.weights[0], [[1.25 / 3, 1.75 / 3]])
    for name, shown in zip(names, attention_map.weights[1:], strict=True):
        assert np.array_equal(shown, weights[..., int(name[-1]) - 1])
    assert np.array_equal(attention_map.mean().weights, mean.weights)  # of all features, not of those that are shown
    assert AttentionMap.from_json(attention_map.to_json()) == attention_map
    data = table(attention_map)
    assert (data["names"], data["panels"]) == (["mean", *names], "features")


def test_nothing_to_add() -> None:
    assert spread(mean, None, 3) == (mean,)
    assert spread(mean, weights, [8]) == (mean,)
    empty = AttentionMap(np.zeros((1, 0)), (a,), ())
    (attention_map,) = spread(empty, np.zeros((1, 0, 2)), 1)
    assert attention_map.head_names == ("mean", "feature 1")


def test_two_directions_are_two_gazes() -> None:
    two = AttentionMap(
        np.stack([mean.weights, mean.weights[:, ::-1]]), (a,), (a, b), "self: a b", head_names=("forward", "backward")
    )
    first, second = spread(two, np.stack([weights, weights[:, ::-1]]), 1)
    assert (first.title, second.title) == ("forward self: a b", "backward self: a b")
    assert first.head_names == second.head_names == ("mean", "feature 2")
    assert (first.weights[1].tolist(), second.weights[1].tolist()) == ([[0.0, 1.0]], [[1.0, 0.0]])


def test_what_cannot_be_shown() -> None:
    fitting(5, [3])
    fitting([5], [3, 5])
    with pytest.raises(RegardError, match=r"^feature 6; expected 1 to 5$"):
        fitting([1, 6], [3, 5])
    with pytest.raises(RegardError, match=r"^a model without feature-wise attention; expected one trained with"):
        fitting(1, [])


def model_of(task: Any, network: Any) -> Model:
    return Model(Run(Path("run"), {"task": task.name, "train": {"precision": "fp32"}}, {}), task, network)


def test_what_cannot_be_asked_for() -> None:
    task = made("translate")
    with pytest.raises(RegardError, match=r"^translate has no features; remove features$"):
        model_of(task, task.network()).predict(["a b"], features=2)
    model = model_of(*both("entail", encoder={"name": "disan", "hidden": 4}))
    assert model.predict([("a dog", "a cat")], features=[2, 1])[0].look is not None
    for wrong in (-1, [0], [3, -2]):
        with pytest.raises(RegardError, match="expected 1 or more"):
            model.predict([("a dog", "a cat")], features=wrong)


@pytest.mark.parametrize("encoder", ["disan", "resan"])
def test_features_of_a_model(encoder: str) -> None:
    """Alone or in a batch, with the sums of each feature's weights, and the mean as it is without features."""
    task, model = both("entail", encoder={"name": encoder, "hidden": 4})
    texts = [("cats", "a dog"), ("a dog runs", "the dog sleeps on")]
    [_, found] = task.predict(model, texts, Ask(features=3))
    [alone] = task.predict(model, texts[1:], Ask(features=3))
    [_, plain] = task.predict(model, texts, Ask())
    attention_maps = [found.look, *found.looks]
    assert found.text == plain.text
    assert [attention_map.title.split(" ")[0] for attention_map in attention_maps[1:]] == ["forward", "backward"] * 2
    assert np.allclose(attention_maps[0].mean().weights, plain.look.weights, atol=1e-6)
    squares = [head for attention_map in plain.looks for head in attention_map.heads]
    for attention_map, square, other in zip(attention_maps[1:], squares, alone.looks, strict=True):
        assert np.allclose(attention_map.mean().weights, square, atol=1e-6)
        assert attention_map.head_names == other.head_names
        assert np.allclose(attention_map.weights, other.weights, atol=1e-6)
        assert len(attention_map.head_names) == 4
        sums = attention_map.weights.sum(-1)
        assert np.allclose(sums, sums[0], atol=1e-5)  # a token asks in all features or in none
        assert (attention_map.row_selected, attention_map.column_selected) == (
            other.row_selected,
            other.column_selected,
        )
    [_, every] = task.predict(model, texts, Ask(features=range(1, 9)))
    assert len(every.look.head_names) == 9  # both directions are pooled
    assert len(every.looks[0].head_names) == 5
    assert np.allclose(every.look.weights[1:].mean(0), plain.look.weights, atol=1e-6)
    assert np.allclose(every.looks[0].weights[1:].mean(0), squares[0], atol=1e-6)
    assert every.look.breaks == (3,)


def test_a_model_without_them() -> None:
    task, model = both("classify", pool="attention")
    with pytest.raises(RegardError, match="without feature-wise attention"):
        task.predict(model, [("a dog",)], Ask(features=1))
    assert task.predict(model, [("a dog",)], Ask(look=False, features=1))[0].look is None
