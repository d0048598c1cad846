"""BLEU of the whole set, 0 to 100, as sacrebleu counts it: n-grams shared with the target, n = 1 … 4.

Papineni et al. 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"; the signature (Post 2018, "A
Call for Clarity in Reporting BLEU Scores") names the tokenization and smoothing, without which two BLEU scores cannot
be compared. Texts are passed as they are: sacrebleu tokenizes them. Of several references an n-gram counts where any
has it, as often as in the one that has it most; the length penalty goes by the reference of the nearest length.

    Bleu(tokenize="zh")(results)  →  {"bleu": 37.1, "bleu_signature": "nrefs:1|case:mixed|…"}
"""

from typing import Annotated, Any, Literal

from regard.errors import RegardError
from regard.find import nearest
from regard.measure import Results

__all__ = ["Bleu"]


class Bleu:
    """Corpus BLEU (sacrebleu), 0 to 100."""

    better: Literal["higher", "lower"] = "higher"

    def __init__(
        self,
        tokenize: Annotated[str, "sacrebleu's tokenizer, for example 13a, intl, zh, char or none"] = "13a",
        lower: Annotated[bool, "ignore case"] = False,
    ) -> None:
        self.tokenize, self.lower = tokenize, lower

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs, bleu = results.pairs(), self._counted()
        score = bleu.corpus_score([p.text for _, p in pairs], results.references()).score
        return {"bleu": float(score), "bleu_signature": str(bleu.get_signature())}

    def each(self, results: Results) -> list[float]:
        """BLEU of each text by itself; n-grams longer than the text are left out."""
        bleu = self._counted(effective_order=True)
        return [float(bleu.sentence_score(p.text, list(e.references)).score) for e, p in results.pairs()]

    def _counted(self, **options: Any) -> Any:
        from sacrebleu.metrics.bleu import BLEU  # here, so that the command line starts without it

        if self.tokenize not in BLEU.TOKENIZERS:
            raise RegardError(f"BLEU tokenize={self.tokenize!r}", do=nearest(self.tokenize, BLEU.TOKENIZERS))
        try:
            # force: with tokenize=none the text is meant to be tokenised already, and sacrebleu need not say so.
            return BLEU(tokenize=self.tokenize, lowercase=self.lower, force=self.tokenize == "none", **options)
        except (ImportError, RuntimeError) as error:  # some languages need a package that sacrebleu leaves out
            raise RegardError(f"BLEU tokenize={self.tokenize!r}: {error}") from None
