"""Cause: where the weights lie, beside where they should."""

import numpy as np
import pytest

from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.measure.cause import Cause
from regard.regions import Item
from regard.types import Example, Link, Prediction


def looked(*weights: list[float]) -> Prediction:
    array = np.array(weights)[:, None] if len(weights) > 1 else np.array(weights)
    columns = tuple(Item(f"title {place}", place) for place in range(array.shape[-1]))
    return Prediction("d", None, AttentionMap(array, (Item("d", 0),), columns))


def test_by_hand() -> None:
    """Of "aa b cc" the second item is the cause; of "b x" the first, and two heads have ½ and 0 of it."""
    links = (Link(0, 1, 3, 4),), (Link(0, 1, 0, 1),)
    examples = [Example((text,), "d", links=one) for text, one in zip(("aa b cc", "b x"), links, strict=True)]
    read = [looked([0.1, 0.7, 0.2]), looked([0.5, 0.5], [0.0, 1.0])]
    found = Cause()(Results(examples, [], read=read))
    assert found == {
        "cause": 0.5,
        "cause_mass": pytest.approx((0.7 + 0.25) / 2),
        "cause_chance": pytest.approx((1 / 3 + 1 / 2) / 2),
    }


def test_where_no_cause_is_known() -> None:
    assert Cause()(Results([Example(("a b",), "d")], [], read=[looked([0.5, 0.5])])) == {}
    assert Cause()(Results([Example(("a b",), "d")], [])) == {}
