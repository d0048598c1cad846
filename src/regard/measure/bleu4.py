"""BLEU-1 to BLEU-4 of the whole set, 0 to 100, as captions are scored: without capitals and punctuation.

BLEU-n is the geometric mean of the precisions of 1-grams to n-grams times the length penalty (Papineni et al. 2002,
"BLEU: a Method for Automatic Evaluation of Machine Translation"), counted by sacrebleu without smoothing; of several
references the nearest in length sets the penalty. Translations are scored by `bleu`, which keeps capitals and
punctuation.

Some papers leave the length penalty out; `brevity_penalty` is that factor, so divide by it to compare with them.

    Bleu4()(results)  →  {"bleu4": 21.3, "bleu1": 67.0, …, "brevity_penalty": 1.0, "bleu4_signature": "…"}
"""

from typing import Literal

from regard.measure import Results
from regard.measure._caption_words import caption_words

__all__ = ["Bleu4"]

ORDERS = (4, 1, 2, 3)  # the first is the main one


class Bleu4:
    """BLEU-1 to BLEU-4 of captions, lower-cased and without punctuation, 0 to 100."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        from sacrebleu.metrics.bleu import BLEU  # here, so that the command line starts without it

        written = [" ".join(caption_words(one.text)) for _, one in results.pairs()]
        references = [
            [None if text is None else " ".join(caption_words(text)) for text in column]
            for column in results.references()
        ]
        how = {"tokenize": "none", "force": True, "smooth_method": "none"}
        found: dict[str, float | str] = {}
        for order in ORDERS:
            bleu = BLEU(max_ngram_order=order, **how)  # type: ignore[arg-type]
            scored = bleu.corpus_score(written, references)  # type: ignore[arg-type]
            found[f"bleu{order}"] = float(scored.score)
            found["brevity_penalty"] = float(scored.bp)
            found.setdefault("bleu4_signature", f"lower-cased, no punctuation, {bleu.get_signature()}")
        return found
