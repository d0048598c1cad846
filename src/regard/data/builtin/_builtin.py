"""What the built-in sets have in common: how much of each part is wanted, and the seed it is made from.

A `Hashed` set makes something at random and lets its own hash say to which part it belongs (80 % of all there could be
are for train, 5 % for valid, 15 % for test), so that nothing of the test is met in training, whatever the sizes.
"""

from typing import Annotated

from regard.data.splits import Splits
from regard.ranges import Examples, Seed, ranged
from regard.types import Example

__all__ = ["Builtin", "DataSeed", "Hashed", "TestSize", "TrainSize", "ValidSize"]

TrainSize = Annotated[Examples, "training examples to make"]
ValidSize = Annotated[Examples, "validation examples to make"]
TestSize = Annotated[Examples, "test examples to make"]
DataSeed = Annotated[Seed, "seed of the examples"]


class Builtin:
    """A set's constructor names the sizes, for its signature is its options, and hands them on."""

    @ranged
    def __init__(self, train: TrainSize, valid: ValidSize, test: TestSize, seed: DataSeed) -> None:
        self.train, self.valid, self.test, self.seed = train, valid, test, seed


class Hashed(Builtin):
    """The parts are ranges of a hash from 0 to 1 (`data.splits.place`)."""

    def splits(self) -> Splits:
        return Splits(
            train=self._make("train", self.train, 0.0, 0.8),
            valid=self._make("valid", self.valid, 0.8, 0.85),
            test=self._make("test", self.test, 0.85, 1.0),
        )

    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        """So many examples whose hash is at least `first` and below `last`."""
        raise NotImplementedError
