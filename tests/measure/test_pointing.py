"""Pointing: where the highest weight lies, by hand on a grid of 2 × 2."""

import numpy as np
import pytest
from PIL import Image

from regard.fields.image import to_data_url
from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.measure.pointing import Pointing
from regard.regions import Box, Token
from regard.types import Example, Grounding, Prediction

GRID = tuple(Box(x / 2, y / 2, (x + 1) / 2, (y + 1) / 2) for y in range(2) for x in range(2))
PICTURE = to_data_url(Image.new("RGB", (4, 4)))
words = (Token("red", 0, 3), Token("dot", 4, 7), Token("</s>", 7, 7))
example = Example(("p",), "red dot", grounding=(Grounding(0, 7, Box(0.0, 0.0, 0.5, 0.3)),))


def measured(weights: list[list[float]] | np.ndarray, of: Example = example) -> dict[str, float | str]:
    look = AttentionMap(np.array(weights), words, GRID, source=PICTURE)
    return Pointing()(Results([of], [Prediction("", 0.0)], read=[Prediction("red dot", 0.0, look)]))


def test_numbers_by_hand() -> None:
    """The box covers 0.5 × 0.3 of the picture, in the first of four. The first word has 0.5 of its weight there, 60 %
    of which lie on the box; 0.3 is at least half of 0.5, so two boxes are looked at: 0.15 / (0.5 + 0.15 − 0.15). The
    second looks at the last box. The end speaks of nothing."""
    found = measured([[0.5, 0.3, 0.2, 0.0], [0.1, 0.1, 0.1, 0.7], [0.0, 0.0, 0.0, 1.0]])
    assert found["pointing"] == 0.5
    assert found["attention_iou"] == pytest.approx((0.15 / 0.5 + 0.0) / 2)
    assert found["attention_mass"] == pytest.approx((0.5 * 0.6 + 0.1 * 0.6) / 2)
    assert found["pointing_chance"] == pytest.approx(0.15)


def test_the_middle_counts() -> None:
    near = Example(("p",), "red dot", grounding=(Grounding(0, 3, Box(0.3, 0.3, 0.6, 0.6)),))
    assert measured(np.eye(4)[[0, 1, 2]], near)["pointing"] == 0.0  # its middle is at 0.25
    at = Example(("p",), "red dot", grounding=(Grounding(0, 3, Box(0.25, 0.25, 0.6, 0.6)),))
    assert measured(np.eye(4)[[0, 1, 2]], at)["pointing"] == 1.0


def test_heads_are_averaged_first() -> None:
    heads = np.stack([np.eye(4)[[3, 3, 3]], np.array([[0.9, 0.1, 0, 0]] * 3)])
    assert measured(0.4 * heads[:1] + 0.0)["pointing"] == 0.0
    assert measured(np.concatenate([0.4 * heads[:1], heads[1:]]))["pointing"] == 1.0


def test_nothing_where_nothing_is_known() -> None:
    assert Pointing()(Results([example], [Prediction("", 0.0)])) == {}
    assert measured(np.eye(4)[[0, 1, 2]], Example(("p",), "red dot")) == {}
