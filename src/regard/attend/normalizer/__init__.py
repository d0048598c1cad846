"""Normalizers: turn scores into weights, `a = normalizer(e, mask)`. One module per normalizer.

A normalizer sees the keys on the last axis and a mask that broadcasts to the scores (True = visible, None = all).
Hidden keys get a weight of exactly 0; a row without visible keys gets zero weights and zero gradients.
"""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import one_hot

__all__ = ["Normalizer", "Weighed", "lowered"]


@dataclass(frozen=True)
class Normalized:
    """Weights, or the one selected key; for a sampled key also its log-probability and entropy."""

    soft: Float[Tensor, "*lead key"] | None = None
    choice: Int[Tensor, "*lead"] | None = None
    visible: Bool[Tensor, "*lead"] | None = None  # False where a row had nothing to choose from
    keys: int = 0
    log_prob: Float[Tensor, "*lead"] | None = None
    entropy: Float[Tensor, "*lead"] | None = None

    def weights(self, dtype: torch.dtype) -> Float[Tensor, "*lead key"]:
        if self.soft is not None:
            return self.soft
        assert self.choice is not None
        weights = one_hot(self.choice, self.keys).to(dtype)
        return weights if self.visible is None else weights * self.visible.unsqueeze(-1)

    def context(
        self, values: Float[Tensor, "*batch key value"], features: bool = False
    ) -> Float[Tensor, "*batch query value"]:
        """The weighted sum of the values; a single chosen value is fetched, not multiplied out.

        With `features` the rows of weights are `[…, query, feature]`: each feature of the values has its own.
        """
        if self.soft is not None:
            return torch.einsum("...qfk,...kf->...qf", self.soft, values) if features else self.soft @ values
        assert self.choice is not None
        if features:
            answer = values.gather(-2, self.choice)
            return answer if self.visible is None else answer * self.visible
        index = self.choice.unsqueeze(-1).expand(*self.choice.shape, values.shape[-1])
        answer = values.gather(-2, index)
        return answer if self.visible is None else answer * self.visible.unsqueeze(-1)


class Normalizer(nn.Module):
    """The interface of a normalizer."""

    kernel: str | None = None  # "softmax" for the one that fused kernels know
    shares: bool = True  # whether the weights of a query sum to 1
    passes: bool = True  # whether gradients pass through the weights to the scores; if not, the loss cannot teach these

    @abstractmethod
    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        raise NotImplementedError


def lowered(scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None) -> Float[Tensor, "*lead key"]:
    """Scores with hidden keys at the lowest finite number: what is exponentiated is then exactly 0,
    and a row with nothing visible is a uniform row, not a NaN."""
    if mask is None:
        return scores
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def visible(mask: Bool[Tensor, "*some key"] | None, shape: torch.Size) -> Bool[Tensor, "*lead"] | None:
    """Which rows have anything to look at."""
    return None if mask is None else mask.any(-1).expand(shape)
