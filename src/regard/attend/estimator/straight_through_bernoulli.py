"""Straight-through: the choice is drawn and hard, and its gradient is taken to be that of p, `∂z/∂l = p (1 − p)`.

Bengio, Léonard & Courville 2013, "Estimating or Propagating Gradients Through Stochastic Neurons", section 4. Biased:
it is exact where the reward is linear in each gate. The gradient of a gate is the first-order credit of its token
(`single_flip`), of all tokens in one backward pass, so its variance is low. That holds for tokens that were left out
too, so nothing need be tried: without `sample` the most likely choice is taken, as outside training.

    StraightThroughBernoulli().draw(logits, mask).values
"""

from dataclasses import replace
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from regard.attend.estimator import Estimator, Gates, most_likely, sampled

__all__ = ["StraightThroughBernoulli"]


class StraightThroughBernoulli(Estimator):
    """`z ~ p` with the gradient of p (biased)"""

    passes: ClassVar[bool] = True
    unbiased: ClassVar[bool] = False

    def __init__(
        self, sample: Annotated[bool, "draw the choice in training; false takes the most likely one"] = True
    ) -> None:
        super().__init__()
        self.sample = sample

    def choose(self, logits: Tensor, mask: Tensor, sides: int = 1, copies: int = 1) -> Gates:
        drawn = sampled(logits, mask) if self.sample else most_likely(logits, mask)
        p = torch.sigmoid(logits).masked_fill(~mask, 0.0)
        # z + (p − p): adding p first would round the gate away from exactly 0 or 1.
        return replace(drawn, score=torch.zeros_like(drawn.score), values=drawn.chosen.to(p.dtype) + (p - p.detach()))
