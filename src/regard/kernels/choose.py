"""Which path a call of attention takes, and why: the only switch between readable and fused code.

    explain("additive", "softmax", q, keys)      # "fused: …", in words

A fused kernel costs a little before it begins; below `SMALL` elements (batch × query × key × feature) the readable
path is quicker, as in a decoder that takes one step at a time.
"""

from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor

__all__ = ["FEW", "MANY", "SMALL", "Route", "choose", "explain"]

# Elements from which a fused kernel is taken, by device and score. On a CPU a fused call costs about 1 ms before it
# begins, and is quicker from there on, on a quiet machine and on a busy one. On a GPU it costs its host about as much
# as two linear layers, forward and backward together, and the readable path nearly as much; what decides is the time
# and the memory of the larger sizes (docs/LOG.md).
SMALL = {"cpu": {"additive": 2**21, "feature": 2**21}, "cuda": {"additive": 2**25, "feature": 2**23}}

# PyTorch's fused kernels share a GPU out by batch, head and query: a question or two over many keys leave most of it
# idle (one query, 4 × 1,024 keys: 0.17 ms for 0.07 readable; docs/attention.md), and have few weights to store.
FEW, MANY = 8, 512


@dataclass(frozen=True)
class Route:
    """The path, and the reason in words."""

    path: Literal["sdpa", "additive", "feature", "readable"]
    why: str


SDPA = Route("sdpa", "fused: a dot product under a softmax, which PyTorch's scaled_dot_product_attention serves")
ADDITIVE = Route("additive", "fused: an additive score under a softmax, large enough to be worth it")
FEATURE = Route("feature", "fused: a feature-wise score under a softmax, large enough to be worth it")
EXACT = Route("readable", "readable: float64 takes the reference path")
WEIGHED = Route("readable", "readable: this normalizer has no fused form")
SCORED = Route("readable", "readable: this score has no fused form")
PAIRED = Route("readable", "readable: a bias gives every pair of query and key a term of its own")
NARROW = Route("readable", "readable: so few queries over many keys leave a fused kernel's GPU idle")
LITTLE = Route("readable", "readable: too little work for a fused kernel to pay")


def choose(score: str | None, normalizer: str | None, q: Tensor, keys: Tensor, paired: bool = False) -> Route:
    """`score` and `normalizer` name the kernel that could serve each; `paired` says that keys differ by query."""
    if q.dtype == torch.float64:
        return EXACT
    if normalizer != "softmax":
        return WEIGHED
    if score not in ("dot", "additive", "feature"):
        return SCORED
    if paired:
        return PAIRED
    if score == "dot":
        return NARROW if q.device.type == "cuda" and q.shape[-2] <= FEW and keys.shape[-2] >= MANY else SDPA
    if prod(q.shape) * keys.shape[-2] < SMALL.get(q.device.type, {}).get(score, 2**62):
        return LITTLE
    return ADDITIVE if score == "additive" else FEATURE


def explain(score: str | None, normalizer: str | None, q: Tensor, keys: Tensor, paired: bool = False) -> str:
    """Which path such a call takes and why, in words."""
    return choose(score, normalizer, q, keys, paired).why
