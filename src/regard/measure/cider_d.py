"""CIDEr-D: n-grams that a caption shares with its references, weighted by how rare they are in the set.

Vedantam, Zitnick & Parikh 2015, "CIDEr: Consensus-based Image Description Evaluation", sections 4 and 7. With h_k(c)
the times an n-gram k stands in a caption c, and the pictures of the set as documents:

    g_k(c) = h_k(c) · (log pictures − log max(1, pictures with k in a reference))
    s_n(c, r) = exp(−(|c| − |r|)² / 2σ²) · Σ_k min(g_k(c), g_k(r)) · g_k(r) / (‖g(c)‖ ‖g(r)‖),      σ = 6
    CIDEr-D(c) = 10 · mean over n = 1 … 4 and over the references of s_n(c, r)

`cider_d` is the mean over the set, times 100, as papers print it. The words are those of `bleu4`; stemming, which the
paper has and its published code (coco-caption) leaves out, is left out. The weights come from the references measured
on, so a score of another set, or of part of one, cannot be compared, and the score of one picture alone is 0.

    CiderD()(results)  →  {"cider_d": 52.1}
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from regard.measure import Results
from regard.measure._caption_words import caption_words

__all__ = ["CiderD"]

LONGEST, SIGMA = 4, 6.0  # words of an n-gram; how much a difference in length may be, in words

Weighed = dict[tuple[str, ...], float]


def ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


class CiderD:
    """CIDEr-D of captions, 0 to 1,000 (papers print the same scale)."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        pairs = results.pairs()
        texts = [(caption_words(p.text), [caption_words(one) for one in e.references]) for e, p in pairs]
        total = 0.0
        for n in range(1, LONGEST + 1):
            pictures = Counter(gram for _, every in texts for gram in {g for one in every for g in ngrams(one, n)})
            rare = {gram: math.log(len(texts)) - math.log(count) for gram, count in pictures.items()}
            unseen = math.log(len(texts))
            for written, every in texts:
                one = _weighed(written, n, rare, unseen)
                scores = [
                    _alike(one, _weighed(reference, n, rare, unseen), len(written) - len(reference))
                    for reference in every
                ]
                total += sum(scores) / len(scores)
        return {"cider_d": 1000 * total / LONGEST / len(texts)}


def _weighed(words: Sequence[str], n: int, rare: Weighed, unseen: float) -> Weighed:
    return {gram: count * rare.get(gram, unseen) for gram, count in ngrams(words, n).items()}


def _alike(written: Weighed, wanted: Weighed, longer: int) -> float:
    norms = math.hypot(*written.values()) * math.hypot(*wanted.values())
    if not norms:
        return 0.0
    shared = sum(min(g, wanted[gram]) * wanted[gram] for gram, g in written.items() if gram in wanted)
    return shared / norms * math.exp(-(longer**2) / (2 * SIGMA**2))
