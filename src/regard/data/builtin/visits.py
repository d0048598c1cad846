"""Visits to a shop: a list of product ids → the department that the visitor is most interested in.

A shop has departments with some products each. The ids of products are drawn at random, so an id says nothing about its
department: that can only be learned from visits. A visitor looks at products of one department more often than at those
of any other, and at other products in between.

    Visits(train=4_000).splits().train[0]               # Example(("p301 p117 p090 …",), "garden")
"""

from random import Random
from typing import Any, ClassVar

from regard.data.builtin._builtin import Builtin, DataSeed, TestSize, TrainSize, ValidSize
from regard.data.splits import Splits
from regard.types import Example

__all__ = ["DEPARTMENTS", "Visits"]

DEPARTMENTS = ("books", "garden", "kitchen", "music", "sports", "toys")
PRODUCTS = 40  # of each department
SHORTEST, LONGEST = 6, 20  # products in a visit


class Visits(Builtin):
    """Lists of product ids → the department that occurs most often in each (classify)."""

    preset: ClassVar[dict[str, Any]] = {
        "input": {"name": "items", "embed": {"dim": 32}},
        "encoder": {"name": "bigru", "hidden": 32},
        "pool": "attention",
        "head": {"hidden": 32},
        "dropout": 0.1,
        "train": {"epochs": 6, "time": "60s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }

    def __init__(
        self, train: TrainSize = 6_000, valid: ValidSize = 500, test: TestSize = 1_000, seed: DataSeed = 1
    ) -> None:
        super().__init__(train, valid, test, seed)

    def splits(self) -> Splits:
        ids = [f"p{number:03d}" for number in range(len(DEPARTMENTS) * PRODUCTS)]
        Random(f"{self.seed} products").shuffle(ids)
        shop = {name: ids[place * PRODUCTS : (place + 1) * PRODUCTS] for place, name in enumerate(DEPARTMENTS)}
        sizes = {"train": self.train, "valid": self.valid, "test": self.test}
        met: set[str] = set()  # no visit is in two parts
        return Splits(**{part: self._make(part, size, shop, met) for part, size in sizes.items()})

    def _make(self, part: str, size: int, shop: dict[str, list[str]], met: set[str]) -> list[Example]:
        chance = Random(f"{self.seed} visits {part}")
        examples: list[Example] = []
        while len(examples) < size:
            goal, length = chance.choice(DEPARTMENTS), chance.randint(SHORTEST, LONGEST)
            own = length // 3 + 1
            others = [name for name in DEPARTMENTS if name != goal]
            rest = [others[number % len(others)] for number in range(length - own)]  # none as often as the goal
            visit = [chance.choice(shop[name]) for name in [goal] * own + rest]
            chance.shuffle(visit)
            text = " ".join(visit)
            if text not in met:
                met.add(text)
                examples.append(Example((text,), goal, "builtin:visits"))
        return examples
