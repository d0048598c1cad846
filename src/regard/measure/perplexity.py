"""Perplexity: exp of the mean −log p of a target token; how many tokens the model hesitates between.

The tokens are the model's own (its end token counted), so two models compare only over one vocabulary.

    Perplexity()(results)  →  {"perplexity": 4.2}
"""

import math
from typing import Literal

from regard.measure import Results

__all__ = ["Perplexity"]


class Perplexity:
    """exp(nats / tokens), teacher-forced."""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        mean = results.nats / results.counted()
        try:
            return {"perplexity": math.exp(mean)}
        except OverflowError:  # beyond what a float holds, from about 710 nats a token
            return {"perplexity": math.inf}
