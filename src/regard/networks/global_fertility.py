"""Losses of where a decoder looked, beside the likelihood: one weight for each pair of tokens, and fertility.

nats, tokens = GlobalFertility(encoder.size)(memory, look, target.mask)
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from regard.errors import RegardError
from regard.predict.generate import Decoder
from regard.types import Look, Memory, wide

__all__ = ["GlobalFertility", "must_look", "pairs"]


def pairs(look: Look) -> Float[Tensor, "batch query key"]:
    """One weight for each target and source token, the mean over heads (and features) where there are; never in half
    precision, for they are added up."""
    weights = wide(look.by_key)
    return weights.mean(1) if weights.dim() == 4 else weights


def must_look(decoder: Decoder, asked: str) -> None:
    """Raise where a loss of weights was asked for and there are none."""
    if decoder.source_attention is None:
        name = type(decoder).__name__.lower()
        raise RegardError(f"{asked} and decoder={name}", expected="a decoder that attends to its source")


class GlobalFertility(nn.Module):
    """How much each source token is looked at, all told: −log N(f_i | μ(h_i), σ²(h_i)) with f_i = Σ_j α_ji.

    Cohn et al. 2016, "Incorporating Structural Alignment Biases into an Attentional Neural Translation Model", section
    3.4. [μ', s] = W h_i + b, μ = softplus(μ'), σ² = exp(s) + least: without a least variance a fertility that is known
    exactly would be worth more than any translation.
    """

    least = 0.01  # σ is a tenth of a token or more

    def __init__(self, size: int) -> None:
        super().__init__()
        self.normal = nn.Linear(size, 2)

    def forward(
        self, memory: Memory, look: Look, target: Bool[Tensor, "batch query"]
    ) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Nats of all source tokens, and how many there are; `target` is True at the true target tokens."""
        f = (pairs(look) * target.unsqueeze(-1)).sum(1)
        mean, s = self.normal(memory.values).to(f.dtype).unbind(-1)
        variance = s.exp() + self.least
        nats = 0.5 * (torch.log(2 * math.pi * variance) + (f - softplus(mean)) ** 2 / variance)
        there = torch.ones_like(f, dtype=torch.bool) if memory.mask is None else memory.mask
        return nats.masked_fill(~there, 0.0).sum(), there.sum().to(f.dtype)
