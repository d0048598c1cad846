"""Which path a call of attention takes, and why: the only switch between readable and fused code.

choose("dot", "softmax", torch.float32, paired=False)   # Route("sdpa", "…")
"""

from dataclasses import dataclass
from typing import Literal

import torch

__all__ = ["Route", "choose"]


@dataclass(frozen=True)
class Route:
    """The path, and the reason in words."""

    path: Literal["sdpa", "readable"]
    why: str


FUSED = Route("sdpa", "a dot product under a softmax: PyTorch's scaled_dot_product_attention serves it")
EXACT = Route("readable", "float64 takes the readable path, which is the reference")
WEIGHED = Route("readable", "this weighing has no fused form")
SCORED = Route("readable", "this score has no fused form")
PAIRED = Route("readable", "a bias gives every pair of query and key a term of its own")


def choose(score: str | None, weigh: str | None, dtype: torch.dtype, paired: bool = False) -> Route:
    """`score` and `weigh` name the kernel that could serve each; `paired` says that keys differ by query."""
    if dtype == torch.float64:
        return EXACT
    if weigh != "softmax":
        return WEIGHED
    if score != "dot":
        return SCORED
    return PAIRED if paired else FUSED
