"""Handwritten digits on a larger canvas with clutter → the digit.

The digits are the 1,797 of scikit-learn's `load_digits` (Alpaydın & Kaynak 1998, UCI "Optical Recognition of
Handwritten Digits"), 8 × 8 pixels each. Each is drawn at twice its size somewhere on a canvas of 40 × 40 pixels, among
pieces of other digits. Digits of the test set, and the pieces around them, are never in the training set.

    Digits(train=6_000).splits().train[0].inputs        # ("data:image/png;base64,…",)
"""

from typing import Any, ClassVar

import numpy as np

from regard.data.builtin._builtin import Builtin, DataSeed, TestSize, TrainSize, ValidSize
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields.image import png_url
from regard.types import Example

__all__ = ["CANVAS", "Digits"]

CANVAS, SCALE, PIECES, PIECE = 40, 2, 6, 6  # sides in pixels, and how many pieces of other digits
SHARES = (0.7, 0.8)  # of the digits: up to here for train, from there to here for valid, the rest for test


class Digits(Builtin):
    """Pictures of a handwritten digit among clutter → the digit (classify)."""

    preset: ClassVar[dict[str, Any]] = {
        "input": {"name": "image", "size": CANVAS, "colour": False, "embed": {"dim": 64, "blocks": 2}},
        "encoder": "identity",
        "pool": "attention",
        "head": {"hidden": 64},
        "dropout": 0.0,
        "train": {
            "epochs": 4,
            "time": "110s",
            "batch_tokens": 0,
            "batch_size": 32,
            "lr": 2e-3,
            "warmup": 50,
            "ema": 0.99,
        },
    }

    def __init__(
        self, train: TrainSize = 10_000, valid: ValidSize = 500, test: TestSize = 1_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def splits(self) -> Splits:
        try:
            from sklearn.datasets import load_digits  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise RegardError("builtin:digits needs scikit-learn", do="pip install scikit-learn") from None
        known = load_digits()
        pictures, labels = (known.images * (255 / 16)).astype(np.uint8), known.target
        order = np.random.default_rng(self.seed).permutation(len(labels))
        cuts = [round(share * len(order)) for share in SHARES]
        parts = dict(zip(("train", "valid", "test"), np.split(order, cuts), strict=True))
        sizes = {"train": self.train, "valid": self.valid, "test": self.test}
        made = {name: self._make(name, sizes[name], pictures[rows], labels[rows]) for name, rows in parts.items()}
        return Splits(**made)

    def _make(self, split: str, size: int, pictures: Any, labels: Any) -> list[Example]:
        """Every digit of the part in turn, drawn anew each time."""
        chance = np.random.default_rng([self.seed, *map(ord, split)])
        large = pictures.repeat(SCALE, 1).repeat(SCALE, 2)
        examples = []
        for number in range(size):
            which = number % len(labels)
            canvas = np.zeros((CANVAS, CANVAS), np.uint8)
            for other in chance.integers(len(labels), size=PIECES):
                y, x = chance.integers(large.shape[1] - PIECE, size=2)
                _draw(canvas, large[other, y : y + PIECE, x : x + PIECE], chance)
            _draw(canvas, large[which], chance)
            examples.append(Example((_png(canvas),), str(labels[which]), "builtin:digits"))
        return examples


def _draw(canvas: Any, picture: Any, chance: np.random.Generator) -> None:
    """Somewhere on the canvas; where ink meets ink the darker stays."""
    side = len(picture)
    y, x = chance.integers(CANVAS - side + 1, size=2)
    place = canvas[y : y + side, x : x + side]
    np.maximum(place, picture, out=place)


def _png(pixels: Any) -> str:
    from PIL import Image

    return png_url(Image.fromarray(pixels), compress_level=1)
