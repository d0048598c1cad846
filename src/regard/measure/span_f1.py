"""Span F1: whole spans of tags (B- begins, I- goes on, O is outside) that are right in place and kind, by seqeval.

Counted as conlleval does (Tjong Kim Sang & Buchholz 2000, "Introduction to the CoNLL-2000 Shared Task: Chunking"),
over the whole set: precision is the share of predicted spans that are true, recall the share of true ones that were
predicted, and `F1 = 2 P R / (P + R)`.

    SpanF1()(results)  →  {"span_f1": 0.9, "span_precision": 0.91, "span_recall": 0.89}, or {} where no tag is B- or I-
"""

import warnings
from typing import Literal

from regard.measure import Results
from regard.measure.tag_accuracy import labels_of

__all__ = ["SpanF1"]


class SpanF1:
    """Right or not, span by span."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        true, predicted = labels_of(results)
        if not any(label.startswith(("B-", "I-")) for sentence in true for label in sentence):
            return {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tags that are not BIO, which count as spans of their own
            from seqeval.metrics.sequence_labeling import precision_recall_fscore_support  # slow to import

            # 0, said without a warning, where nothing was predicted.
            scores = precision_recall_fscore_support(true, predicted, average="micro", zero_division=0)
        precision, recall, f1 = (float(score) for score in scores[:3])
        return {"span_f1": f1, "span_precision": precision, "span_recall": recall}
