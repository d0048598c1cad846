"""Word error rate: the words to replace, insert or delete, for each word of the reference. Lower is better.

    WER = (S + D + I) / N, summed over all examples before the division

Words are what stands between white space; case and punctuation count. Of several references the nearest counts. It can
be above 1. The figures are those of jiwer.wer.

    Wer()(results)  →  {"wer": 0.031}
"""

from typing import Literal

from regard.measure import Results
from regard.measure._edits import error_rates

__all__ = ["Wer"]


class Wer:
    """Word error rate, as a share: 0 is perfect."""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        wrong, words = map(sum, zip(*error_rates(results, str.split), strict=True))
        return {"wer": wrong / max(words, 1)}

    def each(self, results: Results) -> list[float]:
        return [wrong / max(words, 1) for wrong, words in error_rates(results, str.split)]
