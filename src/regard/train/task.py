"""What the loop knows of a task: what it learns its words from, its model, its loss, its measures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from torch import Tensor, nn

from regard.measure import Results
from regard.types import Batch, Example, Prediction

__all__ = ["Item", "Loss", "Task"]


@dataclass(frozen=True)
class Item:
    """One example in numbers: its inputs and its target, each a list of token numbers."""

    inputs: tuple[list[int], ...]
    target: list[int]

    @property
    def lengths(self) -> tuple[int, int]:
        return max(map(len, self.inputs)), len(self.target)


@dataclass(frozen=True)
class Loss:
    """What is minimised, summed over what `count` counts (target tokens, labels); the loop takes the mean."""

    total: Tensor
    count: int


@runtime_checkable
class Task(Protocol):
    """One file in `tasks/` each; the constructor's options are the task's configuration."""

    name: ClassVar[str]
    columns: ClassVar[int]  # texts an example has: its inputs and its target
    default_data: ClassVar[str]  # what `regard train TASK` reads when nothing is given
    preset: ClassVar[dict[str, Any]]  # options that suit the default data
    best: str  # the measure by which the weights to keep are chosen

    def learn(self, examples: Sequence[Example]) -> None:
        """Take vocabularies from the training examples."""

    def keep(self) -> dict[str, Any]:
        """What was learned, for tokenizer.json; `restore` takes it back."""
        ...

    def restore(self, kept: dict[str, Any]) -> None: ...

    def model(self) -> nn.Module: ...

    def items(self, examples: Sequence[Example]) -> list[Item]: ...

    def collate(self, items: Sequence[Item]) -> Batch: ...

    def loss(self, model: nn.Module, batch: Batch) -> Loss: ...

    def results(
        self, model: nn.Module, examples: Sequence[Example], quick: bool = False, search: Any = None
    ) -> Results:
        """Answer every example for real, by the task's own search or another; `quick` (in training) by the cheapest."""
        ...

    def measure(self, results: Results) -> dict[str, float | str]: ...

    def better(self, new: float, old: float) -> bool:
        """Whether one value of the `best` measure beats another."""
        ...

    def predict(self, model: nn.Module, texts: Sequence[tuple[str, ...]], look: bool = True) -> list[Prediction]: ...
