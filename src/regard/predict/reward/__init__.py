"""Rewards: how good a prediction was, for choices that are trained with REINFORCE. One module per reward.

A reward takes logits `[batch, label]` and the true labels `[batch]` and gives a number for each example; higher is
better. No gradient passes through it.

    Correct()(logits, target)       # [batch], 1 or 0
"""

from abc import abstractmethod
from typing import Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["Reward"]


@runtime_checkable
class Reward(Protocol):
    """Logits and true labels → the reward of each example."""

    @abstractmethod
    def __call__(
        self, logits: Float[Tensor, "batch label"], target: Int[Tensor, " batch"]
    ) -> Float[Tensor, " batch"]: ...
