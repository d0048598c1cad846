"""Greedy search: the most likely token at every step.

    [[best], …] = Greedy()(decoder, memory, start=1, end=2, max_length=lengths)

Equal to a beam of width 1 without length normalisation. rank_score and log_prob are both Σ log p(token).
"""

from torch import Tensor

from regard.search import Hypothesis, Rules, Search, Steps, Trace
from regard.search._walk import walk
from regard.types import Memory

__all__ = ["Greedy"]


class Greedy(Search):
    """Greedy decoding: the most likely token at every step."""

    def find(
        self, decoder: Steps, memory: Memory, rules: Rules, weights: bool, trace: Trace | None = None
    ) -> list[list[Hypothesis]]:
        def choose(log_probs: Tensor) -> Tensor:
            return log_probs.argmax(dim=-1)

        return walk(decoder, memory, choose, rules, count=1, weights=weights, trace=trace)
