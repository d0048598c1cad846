"""Word perplexity: exp of the mean −log p per word, whatever the tokenizer.

    exp(nats / Σ (words of a text + 1))

Words are separated by white space; the end of each text counts as one more, as is usual for the Penn Treebank. `nats`
is the sum over all tokens, so word, subword and character models can be compared on the same text, unless words are
unknown: an `<unk>` is cheaper than the word it replaces.

The texts are the targets, or the inputs where nothing has a target (a language model).

    WordPerplexity()(results)  →  {"word_perplexity": 78.4}
"""

import math
from typing import Literal

from regard.errors import RegardError
from regard.measure import Results

__all__ = ["WordPerplexity"]


class WordPerplexity:
    """Perplexity per word, teacher-forced: exp(nats / words); the end of a text counts as a word."""

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
