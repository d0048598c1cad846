"""Scenes: every sentence is true, every word has its box, and the shape is drawn there."""

from collections import Counter

import numpy as np
import pytest

from regard.data.builtin.scenes import CANVAS, COLOURS, SIZES, Scenes, Shape, said
from regard.fields.image import decode
from regard.regions import Box
from regard.types import Example

red = Shape("small", "red", "circle", 15, 4)
blue = Shape("large", "blue", "square", 12, 22)


def test_sentences_by_hand() -> None:
    texts = [text for text, _ in said((red, blue))]
    assert texts == [
        "a small red circle above a large blue square", "a small red circle above a blue square",
        "a red circle above a large blue square", "a red circle above a blue square",
        "a large blue square below a small red circle", "a large blue square below a red circle",
        "a blue square below a small red circle", "a blue square below a red circle",
    ]  # fmt: skip
    assert [text for text, _ in said((Shape("small", "orange", "star", 0, 31),))] == [
        "a small orange star at the bottom left",
        "an orange star at the bottom left",
    ]
    assert "a purple cross in the middle" in dict(said((Shape("large", "purple", "cross", 13, 13),)))
    assert "a purple cross at the right" in dict(said((Shape("large", "purple", "cross", 25, 13),)))


def test_what_is_neither_above_nor_beside_is_not_said() -> None:
    assert list(said((red, Shape("small", "blue", "square", 28, 17)))) == []  # as far down as across


def test_each_word_has_the_box_of_its_shape() -> None:
    text, grounding = next(said((red, blue)))
    assert [text[one.start : one.end] for one in grounding] == ["small", "red", "circle", "large", "blue", "square"]
    assert [one.region for one in grounding] == [red.box] * 3 + [blue.box] * 3
    assert red.box == Box(15 / 40, 4 / 40, 23 / 40, 12 / 40)


def pixels(example: Example) -> np.ndarray:
    return np.asarray(decode(example.source, "").convert("RGB"), dtype=int)


def test_in_the_box_is_the_colour() -> None:
    for example in Scenes(train=1, valid=1, test=40).splits().test:
        for one in example.grounding:
            word = example.target[one.start : one.end]
            left, top, right, bottom = (
                round(edge * CANVAS) for edge in (one.region.left, one.region.top, one.region.right, one.region.bottom)
            )
            if word in COLOURS:
                middle = pixels(example)[(top + bottom) // 2, (left + right) // 2]
                assert min(COLOURS, key=lambda name: sum(abs(middle - COLOURS[name]))) == word
            if word in SIZES:
                assert right - left == SIZES[word]


def test_parts_and_references() -> None:
    splits = Scenes(train=60, valid=5, test=60, references=2).splits()
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [60, 5, 60]
    assert {len(one.references) for one in splits.train} == {2}
    assert set(Counter(len(one.references) for one in splits.test)) == {2, 8, 16, 24}  # one, two or three shapes
    assert not {one.inputs for one in splits.train} & {one.inputs for one in splits.test}


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_same_seed_draws_the_same(part: str) -> None:
    first, second, other = (getattr(Scenes(4, 1, 4, seed=seed).splits(), part) for seed in (1, 1, 2))
    assert first == second != other
