"""SQuAD's F1: how many words an answer shares with the nearest reference, apart from case, punctuation and articles.

`F1 = 2 P R / (P + R)`, P the share of the answer's words that the reference has and R the share of the reference's that
the answer has; the mean over all questions. Equal to the official script, evaluate-v1.1.py, as a share instead of
percent (Rajpurkar et al. 2016, section 6.1).

    SquadF1()(results)  →  {"squad_f1": 0.756}
"""

from typing import Literal

from regard.measure import Results
from regard.measure._squad_words import best, overlap

__all__ = ["SquadF1"]


class SquadF1:
    """Mean F1 of the words of each answer and its nearest reference."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        each = self.each(results)
        return {"squad_f1": sum(each) / len(each)}

    def each(self, results: Results) -> list[float]:
        return [best(overlap, prediction.text, example.references) for example, prediction in results.pairs()]
