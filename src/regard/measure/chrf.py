"""chrF2 of the whole set, 0 to 100, as sacrebleu counts it: n-grams of characters, n = 1 … 6, recall twice as dear.

Popović 2015; `word_order=2` also counts words and pairs of words (chrF++, Popović 2017). It needs no
tokenising, so it compares across languages and spellings better than BLEU.

    Chrf()(results)  →  {"chrf": 58.3, "chrf_signature": "nrefs:1|case:mixed|…"}
"""

from typing import Annotated, Literal

from regard.measure import Results
from regard.ranges import Range, ranged

__all__ = ["Chrf"]


class Chrf:
    """n-grams of characters shared with the target, over the whole set, from 0 to 100."""

    better: Literal["higher", "lower"] = "higher"

    @ranged
    def __init__(
        self,
        word_order: Annotated[int, Range(0, 10), "longest word n-gram to count beside characters; 2 is chrF++"] = 0,
        lower: Annotated[bool, "ignore case"] = False,
    ) -> None:
        self.word_order, self.lower = word_order, lower

    def __call__(self, results: Results) -> dict[str, float | str]:
        from sacrebleu.metrics.chrf import CHRF  # here, so that the command line starts without it

        pairs = results.pairs()
        chrf = CHRF(word_order=self.word_order, lowercase=self.lower)
        score = chrf.corpus_score([p.text for _, p in pairs], [[example.target for example, _ in pairs]]).score
        return {"chrf": float(score), "chrf_signature": str(chrf.get_signature())}
