"""Monotonic attention: a penalty on attention that moves back, for outputs that follow their input in time.

    Σ_t max(0, m_{t−1} − m_t) / I,   m_t = Σ_i α_ti i

m_t is the mean position at step t, I the number of positions. Speech is written down in the order in which it was said,
so a decoder that goes back has lost its place. Steps forward, however long, cost nothing. Of several heads the mean
counts.

    nats = nats + weight * monotonic(look, target.mask, memory)
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.networks.global_fertility import pairs
from regard.types import Look, Memory

__all__ = ["monotonic"]


def monotonic(look: Look, target: Bool[Tensor, "batch query"], memory: Memory) -> Float[Tensor, " batch"]:
    """The penalty of each example; `target` is True at the true target tokens."""
    weights = pairs(look)
    place = torch.arange(weights.shape[-1], device=weights.device, dtype=weights.dtype)
    mean = weights @ place
    count = weights.shape[-1] if memory.mask is None else memory.mask.sum(-1, keepdim=True).clamp(min=1)
    back = (mean[:, :-1] - mean[:, 1:]).clamp(min=0) / count
    return (back * target[:, 1:]).sum(1)
