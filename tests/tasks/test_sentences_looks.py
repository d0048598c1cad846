"""What sentence tasks show of where they looked: the pooling over all inputs, then the encoder, input by input."""

from typing import Any

import numpy as np
import pytest
from sentence_tasks import both

from regard.look.gaze import Gaze


def looks(**options: Any) -> tuple[Gaze, ...]:
    task, model = both("entail", **options)
    [_, found] = task.predict(model, [("cats", "a dog"), ("a dog runs", "the dog sleeps on")])
    return (*([] if found.look is None else [found.look]), *found.looks)


def words(tokens: Any) -> str:
    return " ".join(token.text for token in tokens)


def test_where_the_pooling_looked() -> None:
    [gaze] = looks(pool="attention")
    assert gaze.weights.shape == (1, 7)
    assert words(gaze.rows) in ("yes", "no", "maybe")
    assert words(gaze.columns) == "a dog runs the dog sleeps on"
    assert (gaze.title, gaze.breaks) == ("a dog runs | the dog sleeps on", (3,))
    assert gaze.weights[0, :3].sum() == pytest.approx(1, abs=1e-5)
    assert gaze.weights[0, 3:].sum() == pytest.approx(1, abs=1e-5)
    [gaze] = looks(pool={"name": "structured", "rows": 2})
    assert [token.text[-2:] for token in gaze.rows] == [" 1", " 2"]
    assert np.allclose(gaze.weights.sum(-1), 2, atol=1e-5)
    [gaze] = looks(pool="max")  # the share of the features taken from each token
    assert gaze.weights.sum() == pytest.approx(2, abs=1e-5)
    assert looks(pool="mean") == ()


def test_where_the_encoder_looked() -> None:
    pooling, first, second = looks(encoder={"name": "disan", "hidden": 4})
    assert pooling.weights.sum() == pytest.approx(2, abs=1e-5)
    for gaze, text in ((first, "a dog runs"), (second, "the dog sleeps on")):
        size = len(text.split())
        assert gaze.title == f"self-attention: {text}"
        assert gaze.panels == ("forward", "backward")
        assert words(gaze.rows) == words(gaze.columns) == text
        sums = gaze.weights.sum(-1)
        assert np.allclose(sums, [[0] + [1] * (size - 1), [1] * (size - 1) + [0]], atol=1e-5)
        assert (gaze.row_chosen, gaze.column_chosen, gaze.breaks) == ((), (), ())
    first, _ = looks(encoder={"name": "lstmn", "hidden": 4})
    assert (first.title, first.weights.shape, first.panels) == ("intra-attention: a dog runs", (3, 3), ())


def test_what_was_chosen_is_marked() -> None:
    _, *found = looks(encoder={"name": "resan", "hidden": 4, "start": 0.0})
    marks = []
    for gaze in found:
        assert len(gaze.row_chosen) == len(gaze.rows) == len(gaze.column_chosen)
        seen = np.array(gaze.row_chosen)[:, None] & np.array(gaze.column_chosen)[None, :]
        assert not gaze.weights[:, ~seen].any()
        marks += [*gaze.row_chosen, *gaze.column_chosen]
    assert {True, False} == set(marks)
