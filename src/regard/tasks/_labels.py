"""What all tasks share whose answers are labels, be it one for a text or one for each of its tokens."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from torch import nn

from regard.errors import RegardError
from regard.find import call, nearest
from regard.tasks._sentences import Sentences
from regard.types import Example

__all__ = ["Labels"]


class Labels(Sentences):
    """Labels are those of the training examples, in order of their names."""

    Head: ClassVar[type[nn.Module]]
    labels: list[str]
    numbers: dict[str, int]

    @staticmethod
    def labels_of(example: Example) -> Iterable[str]:
        """The labels of one example."""
        raise NotImplementedError

    def learn_targets(self, examples: Sequence[Example]) -> None:
        self._name(sorted({label for example in examples for label in self.labels_of(example)}))
        if len(self.labels) < 2:
            raise RegardError(
                f"{examples[0].where}: every label is {self.labels[0]!r}" if self.labels else "no labels",
                expected="at least two different labels",
            )

    def keep(self) -> dict[str, Any]:
        return {**super().keep(), "labels": self.labels}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self._name([str(label) for label in kept["labels"]])

    def _name(self, labels: list[str]) -> None:
        self.labels, self.numbers = labels, {label: number for number, label in enumerate(labels)}

    def head(self, size: int) -> nn.Module:
        return call(self.Head, self.options["head"], inputs=size, labels=len(self.labels))  # type: ignore[no-any-return]

    def target(self, example: Example) -> list[int]:
        labels = list(self.labels_of(example))
        for label in labels:
            if label not in self.numbers:
                raise RegardError(
                    f"{example.where}: label {label!r}",
                    expected="one that was seen in training",
                    do=nearest(label, self.labels),
                )
        return [self.numbers[label] for label in labels]
