"""Character error rate: the characters to replace, insert or delete, for each character of the reference.

    CER = (S + D + I) / N, summed over all examples before the division

Spaces count as characters; those at the ends do not. Of several references the nearest counts. The figures are those of
jiwer.cer.

    Cer()(results)  →  {"cer": 0.012}
"""

from typing import Literal

from regard.measure import Results
from regard.measure._edits import error_rates

__all__ = ["Cer"]


class Cer:
    """Character error rate, as a share: 0 is perfect."""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        wrong, characters = map(sum, zip(*error_rates(results, str.strip), strict=True))
        return {"cer": wrong / max(characters, 1)}

    def each(self, results: Results) -> list[float]:
        return [wrong / max(characters, 1) for wrong, characters in error_rates(results, str.strip)]
