"""What the built-in sets have in common: the sizes of their parts, and the seed.

A `Hashed` set makes something at random and lets its own hash say to which part it belongs (80 % of all there could be
are for train, 5 % for valid, 15 % for test), so that nothing of the test is met in training, whatever the sizes.
"""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from regard.data.splits import Splits
from regard.ranges import Examples, Seed, ranged
from regard.types import Example

__all__ = ["Builtin", "DataSeed", "Hashed", "TestSize", "TrainSize", "ValidSize"]

TrainSize = Annotated[Examples, "number of training examples"]
ValidSize = Annotated[Examples, "number of validation examples"]
TestSize = Annotated[Examples, "number of test examples"]
DataSeed = Annotated[Seed, "random seed"]


class Builtin:
    """A set's constructor names the sizes, for its signature is its options, and hands them on.

    `preset` are options of a task that suit the set, where it is not the task's own.
    """

    preset: ClassVar[dict[str, Any]] = {}

    @ranged
    def __init__(self, train: TrainSize, valid: ValidSize, test: TestSize, seed: DataSeed) -> None:
        self.train, self.valid, self.test, self.seed = train, valid, test, seed

    @abstractmethod
    def splits(self) -> Splits:
        """The examples of each part, the same for the same seed."""
        raise NotImplementedError


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
