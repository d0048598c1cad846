"""Histories of a shop: a list of products → the next product, and the product that caused it.

Most products are bought at random. A few are devices, and each device has one accessory that fits it. A history holds
one device at a random place, and the next product is its accessory; the device is the cause, which `links` marks. The
ids of products are drawn at random, so an id does not say which products are devices, nor what fits them: that can only
be learned from other histories.

    Histories(train=4_000).splits().train[0]       # Example(("p101 p007 p230 …",), "p113")
"""

from random import Random
from typing import Any, ClassVar

from regard.data.builtin._builtin import Builtin, DataSeed, TestSize, TrainSize, ValidSize
from regard.data.splits import Splits
from regard.types import Example, Link

__all__ = ["DEVICES", "ORDINARY", "Histories"]

DEVICES, ORDINARY = 50, 200  # each device has an accessory of its own
SHORTEST, LONGEST = 5, 12  # products in a history


class Histories(Builtin):
    """Lists of product ids → the next product, which depends on one of them (recommend)."""

    preset: ClassVar[dict[str, Any]] = {}  # the task's own

    def __init__(
        self, train: TrainSize = 6_000, valid: ValidSize = 500, test: TestSize = 1_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def splits(self) -> Splits:
        ids = [f"p{number:03d}" for number in range(2 * DEVICES + ORDINARY)]
        Random(f"{self.seed} products").shuffle(ids)
        sizes = {"train": self.train, "valid": self.valid, "test": self.test}
        met: set[str] = set()  # no history is in two parts
        return Splits(**{part: self._make(part, size, ids, met) for part, size in sizes.items()})

    def _make(self, part: str, size: int, ids: list[str], met: set[str]) -> list[Example]:
        chance = Random(f"{self.seed} histories {part}")
        examples: list[Example] = []
        while len(examples) < size:
            history = chance.sample(ids[2 * DEVICES :], chance.randint(SHORTEST, LONGEST) - 1)
            device, place = chance.randrange(DEVICES), chance.randint(0, len(history))
            history.insert(place, ids[device])
            text, target = " ".join(history), ids[DEVICES + device]
            if text not in met:
                met.add(text)
                start = len(" ".join(history[:place])) + (place > 0)
                cause = Link(0, len(target), start, start + len(ids[device]))
                examples.append(Example((text,), target, "builtin:histories", (cause,)))
        return examples
