"""ROUGE-1, ROUGE-2, ROUGE-L: overlap of words, bigrams and longest common subsequences with the target; F1, 0 to 100.

Lin 2004, "ROUGE: A Package for Automatic Evaluation of Summaries", sections 2 and 3.1. With P the share of what was
written that is in the target, and R the share of the target that was written:

    rouge1, rouge2   n-grams in common, n = 1, 2, each as often as in the text that has it less often
    rougeL           the longest common subsequence of words, of the text as a whole
    F1 = 2 P R / (P + R), the mean over all texts

Counted as Google's rouge-score does without stemming: lower-cased, words are [a-z0-9]+ and all else parts them, which
suits English. `unicode=true` takes the letters and digits of every script. Of several references the best counts, for
each of the three by itself. `rouge`, the mean of the three, is to rank by.

    Rouge()(results)  →  {"rouge": 29.3, "rouge1": 40.1, "rouge2": 17.5, "rougeL": 30.2, "rouge_variant": "f1, …"}
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from regard.measure import Results

__all__ = ["Rouge", "common", "f1", "longest_common"]


def f1(shared: int, written: int, wanted: int) -> float:
    """Of a number shared by two texts, and the numbers each has."""
    return 2 * shared / (written + wanted) if shared else 0.0  # P = shared / written, R = shared / wanted


def common(written: Sequence[str], wanted: Sequence[str], n: int) -> float:
    """F1 of n-grams."""
    grams = [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for words in (written, wanted)]
    return f1((grams[0] & grams[1]).total(), grams[0].total(), grams[1].total())


def longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest sequence of words that both have in this order, with gaps."""
    best = [0] * (len(other) + 1)  # best[j] with the first j words of the other, for the words of one so far
    for word in one:
        diagonal = 0
        for j, its in enumerate(other, 1):
            diagonal, best[j] = best[j], diagonal + 1 if word == its else max(best[j], best[j - 1])
    return best[-1]


class Rouge:
    """ROUGE-1, ROUGE-2 and ROUGE-L as F1, 0 to 100; `rouge` is their mean."""

    better: Literal["higher", "lower"] = "higher"

    def __init__(
        self, unicode: Annotated[bool, "count letters and digits of all scripts, not only a-z and 0-9"] = False
    ) -> None:
        self.unicode = unicode

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self._scores(results)
        sums = map(sum, zip(*each, strict=True))
        found = {
            name: 100 * total / len(each) for name, total in zip(("rouge1", "rouge2", "rougeL"), sums, strict=True)
        }
        variant = f"f1, lower-cased, words {self._word.pattern}, no stemming"
        return {"rouge": sum(found.values()) / len(found), **found, "rouge_variant": variant}

    def each(self, results: Results) -> list[float]:
        return [100 * sum(scores) / len(scores) for scores in self._scores(results)]

    @property
    def _word(self) -> re.Pattern[str]:
        return re.compile(r"\w+" if self.unicode else "[a-z0-9]+")

    def _scores(self, results: Results) -> list[tuple[float, float, float]]:
        """ROUGE-1, ROUGE-2 and ROUGE-L of each text, from 0 to 1."""
        word, found = self._word, []
        for example, prediction in results.pairs():
            written, *every = (word.findall(text.lower()) for text in (prediction.text, *example.references))
            one, two = (max(common(written, wanted, n) for wanted in every) for n in (1, 2))
            longest = max(f1(longest_common(written, wanted), len(written), len(wanted)) for wanted in every)
            found.append((one, two, longest))
        return found
