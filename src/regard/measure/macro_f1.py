"""Macro F1: the unweighted mean of the F1 of all labels.

`F1 = 2 tp / (2 tp + fp + fn)` for every label that is true or predicted somewhere: one that is never predicted, or
never true, counts with 0.

    MacroF1()(results)  →  {"macro_f1": 0.79}
"""

from collections import Counter
from typing import Literal

from regard.measure import Results

__all__ = ["MacroF1"]


class MacroF1:
    """Unweighted mean of the F1 of all labels"""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs = [(example.target, prediction.text) for example, prediction in results.pairs()]
        true, predicted = Counter(t for t, _ in pairs), Counter(p for _, p in pairs)
        right = Counter(t for t, p in pairs if t == p)
        # fp + tp is how often a label was predicted, fn + tp how often it was true.
        f1 = [2 * right[label] / (predicted[label] + true[label]) for label in true | predicted]
        return {"macro_f1": sum(f1) / len(f1)}
