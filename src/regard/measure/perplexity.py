"""Perplexity: exp of the mean −log p of a target token.

The tokens are the model's own (including the end token), so only models with the same vocabulary can be compared.

    Perplexity()(results)  →  {"perplexity": 4.2}
"""

import math
from typing import Literal

from regard.measure import Results

__all__ = ["Perplexity"]


class Perplexity:
    """Perplexity per token, teacher-forced: exp(nats / tokens)."""

    better: Literal["higher", "lower"] = "lower"

    def __call__(self, results: Results) -> dict[str, float | str]:
        mean = results.nats / results.counted()
        try:
            return {"perplexity": math.exp(mean)}
        except OverflowError:  # beyond what a float holds, from about 710 nats a token
            return {"perplexity": math.inf}
