"""Greedy search: the likeliest token at every step, and never a second thought.

    [[best], …] = Greedy()(decoder, memory, start=1, end=2, longest=lengths)

Equal to a beam of width 1 without length normalisation. Score and log_prob are both Σ log p(token).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from regard.search import Hypothesis, Steps
from regard.search._walk import walk
from regard.types import Memory

__all__ = ["Greedy"]


class Greedy:
    """One hypothesis a sentence: argmax, step by step."""

    @torch.no_grad()
    def __call__(
        self,
        decoder: Steps,
        memory: Memory,
        *,
        start: int,
        end: int,
        longest: Int[Tensor, " batch"],
        weights: bool = False,
        banned: Sequence[int] = (),
    ) -> list[list[Hypothesis]]:
        return walk(
            decoder,
            memory,
            lambda log_probs: log_probs.argmax(dim=-1),
            count=1,
            start=start,
            end=end,
            longest=longest,
            weights=weights,
            banned=banned,
        )
