"""What the loop knows of a task: what it learns its words from, its model, its loss, its measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from torch import Tensor, nn

from regard.measure import Results
from regard.types import Batch, Example, Prediction

__all__ = ["Item", "Loss", "Task"]


@dataclass(frozen=True)
class Item:
    """One example in numbers: its inputs, each a list of token numbers, and its target: token numbers, or labels."""

    inputs: tuple[list[int], ...]
    target: Sequence[int | float]

    @property
    def lengths(self) -> tuple[int, int]:
        return max(map(len, self.inputs)), len(self.target)


@dataclass(frozen=True)
class Loss:
    """What is minimised, summed over what `count` counts (target tokens, examples); the loop takes the mean.

    `notes` are numbers to be shown and logged beside it, each a mean over the batch (the share of tokens chosen)."""

    total: Tensor
    count: int
    notes: Mapping[str, Tensor] = field(default_factory=dict)
    shown: Tensor | None = None  # what is told as the loss, where what is minimised says little (a policy's)


@runtime_checkable
class Task(Protocol):
    """One file in `tasks/` each; the constructor's options are the task's configuration."""

    name: ClassVar[str]
    columns: ClassVar[int]  # texts an example has: its inputs and its target
    default_data: ClassVar[str]  # what `regard train TASK` reads when nothing is given
    preset: ClassVar[dict[str, Any]]  # options that suit the default data
    counts: ClassVar[str]  # what the loss is counted in: "tokens", "examples"
    best: str  # the measure by which the weights to keep are chosen
    notes: Sequence[str]  # what a person should know of what was learned from the data, said once

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

    def on_step(self, model: nn.Module, progress: float) -> None:
        """Told before each step how much of the training is done (0 to 1)."""

    def ready(self, model: nn.Module) -> bool:
        """Whether the model is already trained as what it will be used as; what was best before that does not count."""
        ...

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
