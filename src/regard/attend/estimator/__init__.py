"""Estimators: how a policy learns from choices that were drawn. One module per estimator.

A policy gives a logit for each token, and z_i = 1 with p_i = σ(l_i). Wanted is the gradient of `E[R(z)]` with respect
to the logits, R being the log-likelihood of the right answer after this choice. There are two kinds of estimators:

- **By reward** (`passes = False`): z is hard, no gradient passes through it, and the loss is `−R · score`, where the
  gradient of `score` is what the estimator says of each token. Each example may be read several times (`copies`).
- **Through the gates** (`passes = True`): z is a number that the logits move, and the task's own loss teaches it.

What a share of tokens costs is known exactly and needs no estimate (`regard.attend.sparsity`).

    gates = estimator.draw(logits, mask, sides=2, copies=estimator.copies)
    loss = estimator.loss(score, reward, reinforce, entropy=entropy, copies=estimator.copies)      # [batch · copies]

Rows stand as a network reads them: inputs (premise, hypothesis) one after the other, of each all copies one after the
other, of each copy the whole batch.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attend.bernoulli import chosen_with, expected_share, log_prob_and_entropy, share
from regard.attend.reinforce import Reinforce, surrogate

__all__ = ["Draw", "Estimator", "Gates", "hard", "most_likely", "sampled", "uniform"]


@dataclass(frozen=True)
class Gates:
    """A choice of tokens by each policy.

    `score` is what the reward teaches by: its gradient, times the reward, is the estimate. `expected` is the share of
    tokens chosen on average, exact and with a gradient, `decided` the share that would be chosen outside training.
    `values` are the gates where a gradient passes through them.
    """

    chosen: Bool[Tensor, "policy row time"]
    score: Float[Tensor, "policy row"]
    entropy: Float[Tensor, "policy row"]
    expected: Float[Tensor, "policy row"]
    values: Float[Tensor, "policy row time"] | None = None
    decided: Float[Tensor, "policy row"] | None = None


Draw = Callable[[Tensor, Tensor], Gates]
"""Logits `[policy, row, time]` and a mask `[row, time]` → a choice."""


def uniform(logits: Tensor) -> Tensor:
    """A number from 0 to 1 for each logit."""
    return torch.rand(logits.shape, dtype=logits.dtype, device=logits.device)


def hard(logits: Tensor, draws: Tensor, mask: Tensor) -> Gates:
    """Tokens whose number is below p; the score is the log-probability of the choice."""
    chosen, log_p, entropy = chosen_with(logits, draws, mask)
    return Gates(chosen, log_p, entropy, expected_share(torch.sigmoid(logits), mask))


def sampled(logits: Tensor, mask: Tensor) -> Gates:
    """Each token by itself, with probability p."""
    return hard(logits, uniform(logits), mask)


def most_likely(logits: Tensor, mask: Tensor) -> Gates:
    """The tokens with p ≥ ½."""
    chosen = (logits >= 0) & mask
    return Gates(chosen, *log_prob_and_entropy(logits, chosen, mask), expected_share(torch.sigmoid(logits), mask))


class Estimator(nn.Module):
    """The interface of an estimator."""

    passes: ClassVar[bool] = False  # whether the task's loss teaches the policy through the gates
    unbiased: ClassVar[bool] = True  # whether the mean of the estimate is the gradient of E[R]
    copies: int = 1  # how often each example is read at a training step

    def __init__(self) -> None:
        super().__init__()
        self.variance = nn.Buffer(torch.tensor(0.0))  # of the gradient of a logit

    def draw(self, logits: Tensor, mask: Tensor, sides: int = 1, copies: int = 1) -> Gates:
        """A choice in training. Its gradient is watched, for the log."""
        self._watch(logits, mask, copies)
        with torch.no_grad():
            decided = share(self.decide(logits, mask).chosen, mask, logits.dtype)
        return replace(self.choose(logits, mask, sides, copies), decided=decided)

    @abstractmethod
    def choose(
        self,
        logits: Float[Tensor, "policy row time"],
        mask: Bool[Tensor, "row time"],
        sides: int = 1,
        copies: int = 1,
    ) -> Gates:
        """A choice; the rows are `sides` inputs of `copies` of a batch."""
        raise NotImplementedError

    def decide(self, logits: Float[Tensor, "policy row time"], mask: Bool[Tensor, "row time"]) -> Gates:
        """The choice outside training."""
        return most_likely(logits, mask)

    def loss(
        self,
        score: Float[Tensor, " batch"],
        reward: Float[Tensor, " batch"],
        reinforce: Reinforce,
        *,
        entropy: Float[Tensor, " batch"],
        summary: Float[Tensor, "batch size"] | None = None,
        kept: Bool[Tensor, " batch"] | None = None,
        copies: int = 1,
    ) -> Float[Tensor, " batch"]:
        """The loss of each row whose mean over the copies teaches the policies; `reinforce` has weights and a baseline
        for those that use one."""
        return surrogate(score, reward, 0.0, entropy, reinforce.scale, reinforce.bonus)

    def _watch(self, logits: Tensor, mask: Tensor, copies: int) -> None:
        """Follows the variance of the gradient of a token's logit over the tokens of a batch."""
        if not logits.requires_grad:
            return

        def follow(grad: Tensor) -> None:
            there = mask.expand_as(grad)
            n = there.sum().clamp(min=1)
            each = grad.masked_fill(~there, 0.0) * copies  # the loss is the mean over the copies
            mean = each.sum() / n
            found = (each - mean).masked_fill(~there, 0.0).square().sum() / n
            self.variance.lerp_(found.to(self.variance.dtype), 0.1)

        logits.register_hook(follow)  # type: ignore[no-untyped-call]
