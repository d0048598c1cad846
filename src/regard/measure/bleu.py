"""BLEU of the whole set, 0 to 100, as sacrebleu counts it: n-grams shared with the target, n = 1 … 4.

Papineni et al. 2002; the signature (Post 2018) says which tokenising and smoothing made the number,
without which two BLEUs do not compare. Texts are given as they are: sacrebleu splits them itself.

    Bleu(tokenize="zh")(results)  →  {"bleu": 37.1, "bleu_signature": "nrefs:1|case:mixed|…"}
"""

from typing import Annotated, Literal

from regard.errors import RegardError
from regard.find import nearest
from regard.measure import Results

__all__ = ["Bleu"]


class Bleu:
    """n-grams of words shared with the target, over the whole set, from 0 to 100."""

    better: Literal["higher", "lower"] = "higher"

    def __init__(
        self,
        tokenize: Annotated[str, "tokenizer of sacrebleu, as 13a, intl, zh, char or none"] = "13a",
        lower: Annotated[bool, "ignore case"] = False,
    ) -> None:
        self.tokenize, self.lower = tokenize, lower

    def __call__(self, results: Results) -> dict[str, float | str]:
        from sacrebleu.metrics.bleu import BLEU  # here, so that the command line starts without it

        pairs = results.pairs()
        if self.tokenize not in BLEU.TOKENIZERS:
            raise RegardError(f"BLEU tokenize={self.tokenize!r}", do=nearest(self.tokenize, BLEU.TOKENIZERS))
        try:
            # force: with tokenize=none the text is meant to be tokenised already, and sacrebleu need not say so.
            bleu = BLEU(tokenize=self.tokenize, lowercase=self.lower, force=self.tokenize == "none")
        except (ImportError, RuntimeError) as error:  # some languages need a package that sacrebleu leaves out
            raise RegardError(f"BLEU tokenize={self.tokenize!r}: {error}") from None
        score = bleu.corpus_score([p.text for _, p in pairs], [[example.target for example, _ in pairs]]).score
        return {"bleu": float(score), "bleu_signature": str(bleu.get_signature())}
