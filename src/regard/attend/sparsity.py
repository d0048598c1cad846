"""Sparsity: what chosen tokens cost, at a given price or so that a wished share of them is chosen.

    price        λ E[Σ z_i] / len(x)                 Shen et al. 2018, "Reinforced Self-Attention Network", section 3.3
    target       λ (E[Σ z_i] / len(x) − t),  λ = μ + κ (s − t),  μ ← μ + η (s − t)

With a target each policy has a price of its own, and all meet it (else one might choose everything and the other
nothing). The price is learned: the Lagrange multiplier μ rises while more tokens than wished are chosen and falls while
there are fewer (dual ascent, as in Bastings, Aziz & Titov 2019, section 4, after Rezende & Viola 2018). The term
κ (s − t) is that of an augmented Lagrangian. It reacts at once, so that the share comes to rest in place of swinging
around its target. λ may fall below 0: a policy that dropped too much comes back.

s is a moving average of two shares, half of each: the expected one, and the one that would be chosen outside training
(tokens with p ≥ ½). While a policy is unsure of most tokens they are far apart, and the second is all or nothing; the
first alone would be met by a p of t for every token.

The target falls from 1 to its value over a part of the training (`anneal`). A price that drops most tokens at once
drops any of them: which ones matter is learned while there are many, and the network has time to do with fewer.

When the policies rest at the end of a training (`encoder.settle`), a cut c takes the place of the price. Tokens with
log-odds above c are selected, and `c ← c + ½ σ (s − t)`, with the share s of a batch and the standard deviation σ of
its log-odds, brings just the wished share.

The expected share is a sum of probabilities, so its gradient is exact. The sampled share, as part of the reward, has
the same gradient on average, but what a token costs then drowns in what sentences differ by (docs/LOG.md).

    cost = Sparsity(policies=2, target=0.5)(expected)    # [2, batch] → [batch], to be added to the loss of each example
"""

from typing import Annotated, Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.ranges import BelowOne, NonNegative, Positive, Probability, ranged
from regard.types import wide

__all__ = ["Sparsity"]


CUT = 0.5  # deviations that a cut moves where all tokens are too many
REST = 0.9  # of a training, when the learning rate is low and averaged weights have followed


class Sparsity(nn.Module):
    """`λ E[Σ z] / len(x)`: a price on the share of tokens selected, fixed or learned so that a target is met"""

    multiplier: Tensor
    share: Tensor
    started: Tensor
    first: Tensor
    cut: Tensor

    @ranged
    def __init__(
        self,
        policies: int,
        price: Annotated[NonNegative, "weight of the penalty on the share of tokens selected; without a target"] = 0.03,
        target: Annotated[
            Probability | None, "share of tokens to select, kept by a learned price; none: the fixed price"
        ] = None,
        rate: Annotated[Positive, "step size of the learned price (η)"] = 0.01,
        damping: Annotated[NonNegative, "what the price gains at once for each share above the target (κ)"] = 5.0,
        most: Annotated[Positive, "largest learned price, in either direction"] = 10.0,
        decay: Annotated[BelowOne, "decay of the moving average of the share that a learned price follows"] = 0.9,
        anneal: Annotated[
            Probability, "part of the training with a choice in which the target falls from 1 to its value"
        ] = 0.5,
    ) -> None:
        super().__init__()
        self.price, self.target, self.rate, self.most, self.decay = price, target, rate, most, decay
        self.damping, self.anneal = damping, anneal
        self.register_buffer("multiplier", torch.zeros(policies))
        self.register_buffer("share", torch.zeros(policies))
        self.register_buffer("cut", torch.zeros(policies))
        self.register_buffer("started", torch.tensor(False))
        self.register_buffer("first", torch.tensor(-1.0))  # the progress at which there was a choice first
        self._first: float | None = None  # the same, so that a GPU is asked once

    def wanted(self, progress: float) -> float:
        """The share that is wished when so much of the training is done."""
        assert self.target is not None
        first = progress if self._first is None else self._first
        falling = self.anneal * (1 - first)
        done = 1.0 if falling <= 0 else min(1.0, max(0.0, (progress - first) / falling))
        return 1 - (1 - self.target) * done

    def settled(self, progress: float) -> bool:
        """Whether the share can be expected to have come to rest at the target: what was scored before may have had
        more tokens, and would be taken for better."""
        if self.target is None:
            return True
        return self._first is not None and self.wanted(progress) <= self.target and progress >= REST

    def forward(
        self,
        expected: Float[Tensor, "policy batch"],
        decided: Float[Tensor, "policy batch"] | None = None,
        progress: float = 1.0,
    ) -> Float[Tensor, " batch"]:
        """What the shares of each example cost, the mean over the policies. In training a learned price moves first."""
        if self.target is None:
            return self.price * expected.mean(0)
        if self._first is None and float(self.first) >= 0:
            self._first = float(self.first)  # a training that is resumed
        if self._first is None and self.training:
            self._first = progress
            self.first.fill_(progress)
        wanted = self.wanted(progress)
        if self.training:
            with torch.no_grad():
                both = expected if decided is None else (expected + decided) / 2
                now = wide(both).mean(1).to(self.share.dtype)
                self.share.copy_(torch.where(self.started, torch.lerp(now, self.share, self.decay), now))
                self.started.fill_(True)
                self.multiplier.add_(self.rate * (self.share - wanted)).clamp_(-self.most, self.most)
        learned = (self.multiplier + self.damping * (self.share - wanted)).clamp(-self.most, self.most)
        return (learned.to(expected.dtype).unsqueeze(1) * (expected - wanted)).mean(0)

    @torch.no_grad()
    def rest(
        self,
        decided: Float[Tensor, "policy row"],
        logits: Float[Tensor, "policy row time"],
        mask: Bool[Tensor, "row time"],
    ) -> None:
        """Move the cuts, so that the share of the tokens that are selected becomes the target."""
        if self.target is None:
            return
        n, there = mask.sum().clamp(min=1), wide(logits).masked_fill(~mask, 0.0)
        mean = there.sum((1, 2)) / n
        deviation = ((there - mean[:, None, None]).masked_fill(~mask, 0.0).square().sum((1, 2)) / n).sqrt()
        over = wide(decided).mean(1) - self.target
        self.cut.add_((CUT * deviation * over).to(self.cut.dtype))

    def _load_from_state_dict(self, *given: Any) -> None:
        super()._load_from_state_dict(*given)
        self._first = None
