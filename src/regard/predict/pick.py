"""Picking a word: the sum of the attention over all of its occurrences, `P(w) = Σ_{i: d_i = w} s_i`.

Kadlec et al. 2016, "Text Understanding with the Attention Sum Reader Network", section 3.1; Cui et al. 2016, section
4.2. `groups` says for each position which word it belongs to, and −1 where it belongs to none.

    chances = pick(weights, groups)                       # [batch, word]
    nats(chances, target)                                 # −log P of the true word
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.types import wide

__all__ = ["LEAST", "nats", "pick"]

LEAST = 1e-7  # a probability below counts as this one: an answer that nobody looks at must not end the training


def pick(
    weights: Float[Tensor, "batch time"], groups: Int[Tensor, "batch time"], words: int | None = None
) -> Float[Tensor, "batch word"]:
    """The probability of each word; there are at most as many words as positions."""
    weights = wide(weights).masked_fill(groups < 0, 0.0)
    chances = torch.zeros_like(weights) if words is None else weights.new_zeros(len(weights), words)
    return chances.scatter_add(1, groups.clamp(min=0), weights)


def nats(chances: Float[Tensor, "batch word"], target: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """−log P of the true word; of one that cannot be picked (−1), that of the least probability."""
    of_target = chances.gather(1, target.clamp(min=0).unsqueeze(1)).squeeze(1).masked_fill(target < 0, 0.0)
    return -of_target.clamp(min=LEAST).log()
