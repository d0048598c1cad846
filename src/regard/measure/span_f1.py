"""Span F1: whole spans of tags (B- begins, I- goes on, O is outside) that are right in place and kind.

Counted as conlleval does (Tjong Kim Sang & Buchholz 2000, "Introduction to the CoNLL-2000 Shared Task: Chunking"),
over the whole set: precision is the share of predicted spans that are true, recall the share of true ones that were
predicted, and `F1 = 2 P R / (P + R)`. An I- that does not go on with a span of its own kind begins one. E- (the last
of a span) and S- (a span of one) are understood as well.

    SpanF1()(results)  →  {"span_f1": 0.9, "span_precision": 0.91, "span_recall": 0.89}, or {} where no tag is B- or I-
"""

from collections.abc import Sequence
from typing import Literal

from regard.measure import Results
from regard.measure.tag_accuracy import labels_of

__all__ = ["SpanF1", "spans"]

Span = tuple[str, int, int]  # its kind, its first tag, the one after its last


def spans(labels: Sequence[str]) -> set[Span]:
    """The spans of one sentence."""
    found: set[Span] = set()
    kind, begin = "", -1  # of the span that is open; −1 where none is
    for place, label in enumerate((*labels, "O")):
        tag, dash, name = label.partition("-")
        inside = bool(dash) and tag in ("B", "I", "E", "S")
        goes_on = begin >= 0 and tag in ("I", "E") and name == kind and inside
        if begin >= 0 and not goes_on:
            found.add((kind, begin, place))
            begin = -1
        if inside and not goes_on:
            kind, begin = name, place
        if inside and tag in ("E", "S"):
            found.add((kind, begin, place + 1))
            begin = -1
    return found


class SpanF1:
    """F1 of labelled spans (conlleval)."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        sides = labels_of(results)
        true, predicted = (
            {(number, *span) for number, labels in enumerate(side) for span in spans(labels)} for side in sides
        )
        if not true:
            return {}
        right = len(true & predicted)
        precision, recall = right / len(predicted) if predicted else 0.0, right / len(true)
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        return {"span_f1": f1, "span_precision": precision, "span_recall": recall}
