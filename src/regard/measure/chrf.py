"""chrF2 of the whole set, 0 to 100, as sacrebleu counts it: n-grams of characters, n = 1 … 6, recall counts twice.

Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation"; `word_order=2` also counts words and pairs
of words (chrF++, Popović 2017, "chrF++: words helping character n-grams"). It needs no tokenization, so it compares
across languages better than BLEU. Of several references the best counts.

    Chrf()(results)  →  {"chrf": 58.3, "chrf_signature": "nrefs:1|case:mixed|…"}
"""

from typing import Annotated, Any, Literal

from regard.measure import Results
from regard.ranges import Range, ranged

__all__ = ["Chrf"]


class Chrf:
    """Corpus chrF (sacrebleu), 0 to 100."""

    better: Literal["higher", "lower"] = "higher"

    @ranged
    def __init__(
        self,
        word_order: Annotated[int, Range(0, 10), "longest word n-gram to count as well; 0 is chrF, 2 is chrF++"] = 0,
        lower: Annotated[bool, "ignore case"] = False,
    ) -> None:
        self.word_order, self.lower = word_order, lower

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs, chrf = results.pairs(), self._counted()
        score = chrf.corpus_score([p.text for _, p in pairs], results.references()).score
        return {"chrf": float(score), "chrf_signature": str(chrf.get_signature())}

    def each(self, results: Results) -> list[float]:
        """chrF of each text by itself; their mean is not the chrF of the whole set."""
        chrf = self._counted()
        return [float(chrf.sentence_score(p.text, list(e.references)).score) for e, p in results.pairs()]

    def _counted(self) -> Any:
        from sacrebleu.metrics.chrf import CHRF  # here, so that the command line starts without it

        return CHRF(word_order=self.word_order, lowercase=self.lower)
