"""Label: one of the labels that the training data has, in the order of their names.

field = Label();  field.fit(["yes", "no"]);  field.names == ["no", "yes"]
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.errors import RegardError
from regard.fields import Field, Where
from regard.find import nearest
from regard.types import Rows

__all__ = ["Label"]


class Label(Field):
    """A label to predict: one of those in the training data."""

    kind: ClassVar[str] = "label"
    headers: ClassVar[tuple[str, ...]] = (
        *("label", "labels", "gold_label", "class", "category", "sentiment", "target", "intent", "topic"),
        *("emotion", "polarity", "airline_sentiment", "rating", "star_rating", "stars", "overall"),
        *("score", "gold", "output", "y", "type", "is_spam", "spam", "toxic", "star", "genre", "language"),
        *("lang",),
    )
    textual: ClassVar[bool] = True
    names: list[str]
    numbers: dict[str, int]

    def tidied(self, value: str) -> str:
        """Spaces around a label are none of it, as after the comma of `a text, good`."""
        return value.strip()

    def labels(self, value: str) -> Iterable[str]:
        return (value,)

    def fit(self, values: Sequence[str]) -> None:
        self._name(sorted({label for value in values for label in self.labels(value)}))
        if len(self.names) < 2:
            raise RegardError(
                f"every label is {self.names[0]!r}" if self.names else "no labels",
                expected="at least two different labels",
            )

    def _name(self, names: list[str]) -> None:
        self.names, self.numbers = names, {label: number for number, label in enumerate(names)}

    def state(self) -> dict[str, Any]:
        return {"labels": self.names}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._name([str(label) for label in state["labels"]])

    def encode(self, values: Sequence[str], where: Where, role: str = "label") -> list[list[int]]:
        return [
            [self._number(label, at) for label in self.labels(value)] for value, at in zip(values, where, strict=True)
        ]

    def _number(self, label: str, where: str) -> int:
        if label not in self.numbers:
            raise RegardError(
                f"{where}: label {label!r}",
                expected="a label from the training data",
                do=nearest(label, self.names),
            )
        return self.numbers[label]

    def collate(self, rows: Sequence[Sequence[int]]) -> Rows | Tensor:
        return torch.tensor([row[0] for row in rows])

    def doubts(self, train: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
        usual = Counter(label for value in train for label in self.labels(value)).most_common(1)[0][0]
        true, said = ([label for pair in pairs for label in self.labels(pair[side])] for side in (0, 1))
        if len(true) != len(said):
            return []
        if len(set(said)) == 1 and len(set(true)) > 1:
            return [f"the same prediction for all {len(pairs):,} inputs"]
        right = sum(a == b for a, b in zip(true, said, strict=True)) / len(true)
        always = sum(label == usual for label in true) / len(true)
        if right > always or always == 1:
            return []
        return [f"accuracy {right:.1%}; always predicting the most frequent label gives {always:.1%}"]
