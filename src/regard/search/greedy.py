"""Greedy search: the likeliest token at every step, and never a second thought.

    [[best], …] = Greedy()(decoder, memory, start=1, end=2, longest=lengths)

Equal to a beam of width 1 without length normalisation. Score and log_prob are both Σ log p(token).
"""

from regard.search import Hypothesis, Rules, Search, Steps
from regard.search._walk import walk
from regard.types import Memory

__all__ = ["Greedy"]


class Greedy(Search):
    """One hypothesis a sentence: argmax, step by step."""

    def find(self, decoder: Steps, memory: Memory, rules: Rules, weights: bool) -> list[list[Hypothesis]]:
        return walk(decoder, memory, lambda log_probs: log_probs.argmax(dim=-1), rules, count=1, weights=weights)
