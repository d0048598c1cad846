"""Word perplexity: exp of the −log p that a word costs, whatever pieces the model reads and writes words in.

    exp(nats / Σ (words of a text + 1))

Words are what stands between white space; one more a text is its end, as the Penn Treebank is counted. `nats` is the
sum over all tokens, so the figures of models of words, pieces and characters over the same text compare. They do not
where words are unknown: an `<unk>` is cheaper than the word it stands for.

The texts are the targets, or the inputs where nothing has a target (a language model).

    WordPerplexity()(results)  →  {"word_perplexity": 78.4}
"""

import math
from typing import Literal

from regard.errors import RegardError
from regard.measure import Results

__all__ = ["WordPerplexity"]


class WordPerplexity:
    """exp(nats / words), teacher-forced, the end of a text counted as a word."""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        texts = [example.target for example in results.examples]
        if not any(texts):
            texts = [example.source for example in results.examples]
        if not texts:
            raise RegardError("no examples to measure on", expected="at least one")
        try:
            return {"word_perplexity": math.exp(results.nats / sum(len(text.split()) + 1 for text in texts))}
        except OverflowError:  # beyond what a float holds, from about 710 nats a word
            return {"word_perplexity": math.inf}
