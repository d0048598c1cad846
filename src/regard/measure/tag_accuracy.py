"""Tag accuracy: the share of labels that are right, token by token, over the whole set.

Target and prediction are labels with a space between, one for each token.

    TagAccuracy()(results)  →  {"tag_accuracy": 0.97}
"""

from itertools import chain
from typing import Literal

from regard.errors import RegardError
from regard.measure import Results

__all__ = ["TagAccuracy", "labels_of"]


def labels_of(results: Results) -> tuple[list[list[str]], list[list[str]]]:
    """True and predicted labels, sentence by sentence; there must be as many of one as of the other."""
    true, predicted = [], []
    for number, (example, prediction) in enumerate(results.pairs(), 1):
        # At spaces only: a label may hold any other character.
        t, p = ([label for label in text.split(" ") if label] for text in (example.target, prediction.text))
        if len(t) != len(p):
            where = example.where or f"example {number}"
            raise RegardError(f"{where}: {len(p)} labels were predicted", expected=f"one for each true label, {len(t)}")
        true.append(t)
        predicted.append(p)
    return true, predicted


class TagAccuracy:
    """Share of tokens whose predicted label is correct."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        true, predicted = (list(chain.from_iterable(sentences)) for sentences in labels_of(results))
        if not true:
            raise RegardError("no labels to measure on", expected="at least one")
        return {"tag_accuracy": sum(t == p for t, p in zip(true, predicted, strict=True)) / len(true)}

    def each(self, results: Results) -> list[float]:
        """Share of correct labels in each sentence; 1 where it has none."""
        return [
            sum(t == p for t, p in zip(true, predicted, strict=True)) / len(true) if true else 1.0
            for true, predicted in zip(*labels_of(results), strict=True)
        ]
