"""Doubly stochastic attention: a penalty on keys whose weights do not sum to 1 over all steps.

Each step's weights sum to 1 over the positions i; the penalty draws their sum over the steps t to 1 as well:

    Σ_i (1 − Σ_t α_ti)²

Xu et al. 2015, "Show, Attend and Tell", section 4.2.1, who add it with λ = 1 to the negative log-likelihood of a
caption. Of several heads the mean counts.

    nats = nats + doubly_stochastic(look, target.mask, memory)
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.networks.global_fertility import pairs
from regard.types import Look, Memory

__all__ = ["doubly_stochastic"]


def doubly_stochastic(look: Look, target: Bool[Tensor, "batch query"], memory: Memory) -> Float[Tensor, " batch"]:
    """The penalty of each example; `target` is True at the true target tokens."""
    total = (pairs(look) * target.unsqueeze(-1)).sum(1)
    uneven = (1 - total) ** 2
    return (uneven if memory.mask is None else torch.where(memory.mask, uneven, 0.0)).sum(1)
