"""What sentence tasks show of where they looked: the pooling over all inputs, then the encoder, input by input."""

from typing import Any

import numpy as np
import pytest

from regard.look.attention_map import AttentionMap
from regard.train.task import Ask
from sentence_tasks import both


def looks(**options: Any) -> tuple[AttentionMap, ...]:
    task, model = both("entail", **options)
    [_, found] = task.predict(model, [("cats", "a dog"), ("a dog runs", "the dog sleeps on")], Ask())
    return (*([] if found.look is None else [found.look]), *found.looks)


def words(tokens: Any) -> str:
    return " ".join(token.text for token in tokens)


def test_where_the_pooling_looked() -> None:
    [attention_map] = looks(pool="attention")
    assert attention_map.weights.shape == (1, 7)
    assert words(attention_map.rows) in ("yes", "no", "maybe")
    assert words(attention_map.columns) == "a dog runs the dog sleeps on"
    assert (attention_map.title, attention_map.breaks) == ("a dog runs | the dog sleeps on", (3,))
    assert attention_map.weights[0, :3].sum() == pytest.approx(1, abs=1e-5)
    assert attention_map.weights[0, 3:].sum() == pytest.approx(1, abs=1e-5)
    [attention_map] = looks(pool={"name": "structured", "hops": 2})
    assert [token.text[-2:] for token in attention_map.rows] == [" 1", " 2"]
    assert np.allclose(attention_map.weights.sum(-1), 2, atol=1e-5)
    [attention_map] = looks(pool="max")  # the share of the features taken from each token
    assert attention_map.weights.sum() == pytest.approx(2, abs=1e-5)
    assert looks(pool="mean") == ()


def test_where_the_encoder_looked() -> None:
    pooling, first, second = looks(encoder={"name": "disan", "hidden": 4})
    assert pooling.weights.sum() == pytest.approx(2, abs=1e-5)
    for attention_map, text in ((first, "a dog runs"), (second, "the dog sleeps on")):
        size = len(text.split())
        assert attention_map.title == f"self-attention: {text}"
        assert attention_map.head_names == ("forward", "backward")
        assert words(attention_map.rows) == words(attention_map.columns) == text
        sums = attention_map.weights.sum(-1)
        assert np.allclose(sums, [[0] + [1] * (size - 1), [1] * (size - 1) + [0]], atol=1e-5)
        assert (attention_map.row_selected, attention_map.column_selected, attention_map.breaks) == ((), (), ())
    first, _ = looks(encoder={"name": "lstmn", "hidden": 4})
    assert (first.title, first.weights.shape, first.head_names) == ("intra-attention: a dog runs", (3, 3), ())


def test_what_was_chosen_is_marked() -> None:
    _, *found = looks(encoder={"name": "resan", "hidden": 4, "start": 0.0})
    marks = []
    for attention_map in found:
        assert len(attention_map.row_selected) == len(attention_map.rows) == len(attention_map.column_selected)
        seen = np.array(attention_map.row_selected)[:, None] & np.array(attention_map.column_selected)[None, :]
        assert not attention_map.weights[:, ~seen].any()
        marks += [*attention_map.row_selected, *attention_map.column_selected]
    assert {True, False} == set(marks)
