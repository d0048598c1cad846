"""Drawn shapes and what can be said of them: "a small red circle above a blue square".

Each picture has one to three shapes: circles, squares, triangles, stars and crosses in six colours and two sizes, on a
background that is never quite the same. No two shapes of a picture share both form and colour, so every phrase means
one of them. Everything said is true:

    a small red circle above a large blue square       of two shapes, the one clearly above, below, left or right
    a red circle above a blue square                   with sizes or without
    a large green star at the top left                 of a shape that is alone, its place in the picture

In training a picture comes with a few of its sentences, drawn at random. In valid and test it comes with all of them,
so `exact_match` is the share of sentences that are true. `grounding` names the box of the shape that each word speaks
of; articles and words such as "above" speak of none.

    Scenes(train=2_000).splits().train[0]
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Annotated, Any

from regard.data.builtin._builtin import Builtin, DataSeed, TestSize, TrainSize, ValidSize
from regard.data.splits import Splits
from regard.fields.image import png_url
from regard.ranges import Few, ranged
from regard.regions import Box
from regard.types import Example, Grounding

__all__ = ["CANVAS", "Scenes", "Shape", "said"]

CANVAS, SMOOTH = 40, 4  # pixels of each side, and how many times larger it is drawn before it is scaled down
FORMS = ("circle", "square", "triangle", "star", "cross")
COLOURS = {
    "red": (214, 39, 40),
    "green": (44, 140, 44),
    "blue": (31, 90, 200),
    "yellow": (235, 200, 30),
    "purple": (140, 60, 190),
    "orange": (250, 130, 20),
}
SIZES = {"small": 8, "large": 14}  # pixels of each side
CLEAR = 1.5  # how many times farther apart on one axis than on the other, for "above" or "left of" to be clear
TRIES = 200  # places tried for a shape before the picture is begun anew


@dataclass(frozen=True)
class Shape:
    """One shape, with the left top corner of its box in pixels."""

    size: str
    colour: str
    form: str
    x: int
    y: int

    @property
    def side(self) -> int:
        return SIZES[self.size]

    @property
    def box(self) -> Box:
        return Box(*(at / CANVAS for at in (self.x, self.y, self.x + self.side, self.y + self.side)))

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.side / 2, self.y + self.side / 2


class Scenes(Builtin):
    """Pictures of coloured shapes, and sentences about them (caption)."""

    @ranged
    def __init__(
        self,
        train: TrainSize = 6_000,
        valid: ValidSize = 300,
        test: TestSize = 500,
        references: Annotated[Few, "sentences for each training picture"] = 3,
        seed: DataSeed = 1,
    ) -> None:
        super().__init__(train, valid, test, seed)
        self.references = references

    def splits(self) -> Splits:
        made = {name: self._make(name, getattr(self, name)) for name in ("train", "valid", "test")}
        return Splits(**made)

    def _make(self, split: str, size: int) -> list[Example]:
        chance = Random(f"{self.seed} scenes {split}")
        examples = []
        for _ in range(size):
            shapes = _scene(chance)
            sentences = list(said(shapes))
            chance.shuffle(sentences)
            if split == "train":
                sentences = sentences[: self.references]
            (first, grounding), *others = sentences
            alternatives = tuple(text for text, _ in others)
            picture = _drawn(shapes, chance)
            examples.append(Example((picture,), first, "builtin:scenes", (), alternatives, grounding))
        return examples


def said(shapes: tuple[Shape, ...]) -> Iterator[tuple[str, tuple[Grounding, ...]]]:
    """Every sentence about these shapes, and the box of the shape that each word speaks of."""
    if len(shapes) == 1:
        for sized in (True, False):
            yield _joined(_phrase(shapes[0], sized), [(_place(shapes[0]), None)])
        return
    for one, other in permutations(shapes, 2):
        if relation := _relation(one, other):
            for sizes in ((True, True), (True, False), (False, True), (False, False)):
                yield _joined(_phrase(one, sizes[0]), [(relation, None)], _phrase(other, sizes[1]))


Words = list[tuple[str, Shape | None]]


def _phrase(shape: Shape, sized: bool) -> Words:
    words = [*([shape.size] if sized else []), shape.colour, shape.form]
    article = "an" if words[0][0] in "aeiou" else "a"
    return [(article, None), *((word, shape) for word in words)]


def _joined(*parts: Words) -> tuple[str, tuple[Grounding, ...]]:
    text, grounding = "", []
    for word, shape in (pair for part in parts for pair in part):
        start = len(text) + bool(text)
        text = f"{text} {word}" if text else word
        if shape is not None:
            grounding.append(Grounding(start, len(text), shape.box))
    return text, tuple(grounding)


def _relation(one: Shape, other: Shape) -> str:
    """Where the one is, seen from the other; nothing where it is in between."""
    (x, y), (u, v) = one.middle, other.middle
    across, down = x - u, y - v
    if abs(down) >= CLEAR * abs(across):
        return "above" if down < 0 else "below"
    if abs(across) >= CLEAR * abs(down):
        return "left of" if across < 0 else "right of"
    return ""


def _place(shape: Shape) -> str:
    """In which ninth of the picture its middle is."""
    across, down = (min(int(3 * at / CANVAS), 2) for at in shape.middle)
    words = [("top", "", "bottom")[down], ("left", "", "right")[across]]
    return f"at the {' '.join(filter(None, words))}" if any(words) else "in the middle"


def _scene(chance: Random) -> tuple[Shape, ...]:
    """One to three shapes that do not touch, of which something can be said."""
    while True:
        shapes: list[Shape] = []
        for _ in range(chance.choice((1, 2, 2, 3, 3))):
            for _ in range(TRIES):
                size = chance.choice(list(SIZES))
                x, y = (chance.randint(1, CANVAS - SIZES[size] - 1) for _ in range(2))
                new = Shape(size, chance.choice(list(COLOURS)), chance.choice(FORMS), x, y)
                if not any(_clash(new, old) for old in shapes):
                    shapes.append(new)
                    break
        if any(True for _ in said(tuple(shapes))):
            return tuple(shapes)


def _clash(one: Shape, other: Shape) -> bool:
    """Whether they touch, or would be called the same."""
    touch = all(a < b + other.side + 1 and b < a + one.side + 1 for a, b in ((one.x, other.x), (one.y, other.y)))
    return touch or (one.colour, one.form) == (other.colour, other.form)


def _drawn(shapes: tuple[Shape, ...], chance: Random) -> str:
    from PIL import Image, ImageDraw

    ground = tuple(chance.randint(215, 245) for _ in range(3))
    picture = Image.new("RGB", (CANVAS * SMOOTH,) * 2, ground)
    pen = ImageDraw.Draw(picture)
    for shape in shapes:
        ink = tuple(min(255, max(0, part + chance.randint(-15, 15))) for part in COLOURS[shape.colour])
        _draw(pen, shape, ink)
    return png_url(picture.resize((CANVAS, CANVAS), Image.Resampling.BOX), compress_level=1)


def _draw(pen: Any, shape: Shape, ink: tuple[int, ...]) -> None:
    """It fills its box from edge to edge."""
    left, top, side = shape.x * SMOOTH, shape.y * SMOOTH, shape.side * SMOOTH
    right, bottom = left + side - 1, top + side - 1
    if shape.form == "circle":
        pen.ellipse((left, top, right, bottom), fill=ink)
    elif shape.form == "square":
        pen.rectangle((left, top, right, bottom), fill=ink)
    elif shape.form == "triangle":
        pen.polygon([(left, bottom), (right, bottom), ((left + right) / 2, top)], fill=ink)
    elif shape.form == "cross":
        third = side / 3
        pen.rectangle((left + third, top, right - third, bottom), fill=ink)
        pen.rectangle((left, top + third, right, bottom - third), fill=ink)
    else:
        corners = []
        for point in range(10):
            far, turn = side / 2 * (0.42 if point % 2 else 1.0), math.pi * (point / 5 - 0.5)
            corners.append((left + side / 2 + far * math.cos(turn), top + side / 2 + far * math.sin(turn)))
        pen.polygon(corners, fill=ink)
