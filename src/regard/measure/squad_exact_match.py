"""SQuAD's exact match: the share of answers that equal a reference, apart from case, punctuation and articles.

Equal to the official script, evaluate-v1.1.py, as a share instead of percent (Rajpurkar et al. 2016, section 6.1).

    SquadExactMatch()(results)  →  {"squad_exact_match": 0.65}
"""

from typing import Literal

from regard.measure import Results
from regard.measure._squad_words import best, exact

__all__ = ["SquadExactMatch"]


class SquadExactMatch:
    """Share of answers that equal a reference, apart from case, punctuation and articles."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"squad_exact_match": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return [best(exact, prediction.text, example.references) for example, prediction in results.pairs()]
