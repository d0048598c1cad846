"""REINFORCE: trains sampled choices by their reward.

A sampled choice s has no gradient, so its policy learns from a reward R: the gradient of
`−(λ_r E[R] + λ_e H)` has an unbiased estimate from the samples:

    −(λ_r (R − b) ∂log p(s) + λ_e ∂H)

Williams 1992, "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning", section 4.
A baseline b that does not depend on s keeps the mean of the estimate and lowers its variance:

- `moving`: `b ← 0.9 b + 0.1 R`. Xu et al. 2015, "Show, Attend and Tell", section 4.1, who also add H and, for half the
  examples, put the expected value in place of the sample (`expected`);
- `learned`: a value head on a summary of the input. Mnih et al. 2014, "Recurrent Models of Visual Attention",
  section 3.2. Its squared error is part of the loss;
- `others`: each of the k samples of an example (`samples`) is compared with the mean of the others,
  `b_i = Σ_{j≠i} R_j / (k − 1)`. Kool et al. 2019, "Buy 4 REINFORCE Samples, Get a Baseline for Free!" (ICLR workshop).
  This removes the difficulty of the example, which often varies more than the value of any choice.

The bonus keeps a policy from committing too early. For independent binary choices worth w each, the best policy has
log-odds `w / λ_e`: choices worth almost nothing stay random, and the most likely choice is the same.

The value of this loss says nothing about progress; watch the reward.

    reinforce = Reinforce(size=None, bonus=0.01)
    loss = cross_entropy + reinforce(memory.choices, log_likelihood.detach())     # [batch]
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.errors import RegardError
from regard.ranges import BelowOne, NonNegative, Probability, Range, ranged
from regard.types import Progress, Selection, wide

__all__ = ["Reinforce", "mix", "surrogate"]

NOISE = 1e-2  # rewards that differ by less are not blown up to look different


def _beside(x: Tensor, steps: Tensor) -> Tensor:
    """One number a sentence (or one in all) made to stand beside the steps of each sentence."""
    return x.reshape(*x.shape, *[1] * (steps.dim() - x.dim())) if x.dim() else x


def surrogate(
    log_prob: Float[Tensor, "batch *step"],
    reward: Float[Tensor, " batch"] | Float[Tensor, "batch *step"],
    baseline: Float[Tensor, " batch"] | Float[Tensor, "batch *step"] | float = 0.0,
    entropy: Float[Tensor, "batch *step"] | None = None,
    scale: float = 1.0,
    bonus: float = 0.0,
) -> Float[Tensor, " batch"]:
    """A loss whose gradient is the estimate, `−(λ_r (R − b) log p(s) + λ_e H)` with R and b held fixed.

    Steps of a sentence are added up. Reward and baseline are one a sentence or one a step. A step that is not there has
    log-probability and entropy 0, and so no part in it.
    """
    log_p, R, b = wide(log_prob), wide(reward.detach()), wide(torch.as_tensor(baseline).detach())
    short = _beside(b.to(R.device), log_p) - _beside(R, log_p)
    loss = (short if scale == 1 else scale * short) * log_p
    if bonus:
        if entropy is None:
            raise RegardError(f"entropy bonus {bonus} without an entropy", do="pass the entropy, or use bonus=0")
        loss = torch.sub(loss, wide(entropy), alpha=bonus)
    return loss.flatten(1).sum(1) if loss.dim() > 1 else loss


def mix(
    sampled: Float[Tensor, "batch *rest"],
    expected: Float[Tensor, "batch *rest"],
    chance: Progress,
    generator: torch.Generator | None = None,
    kept: Bool[Tensor, " batch"] | None = None,
) -> tuple[Float[Tensor, "batch *rest"], Bool[Tensor, " batch"]]:
    """For each example the sample or, with this chance, its expected value; and which ones kept the sample.

    Later steps of the same sentences give `kept` back, so that a sentence is sampled throughout or not at all.
    """
    if (
        kept is None and not isinstance(chance, Tensor) and chance == 0
    ):  # nothing to draw: the random numbers of others are left as they were
        kept = torch.ones(sampled.shape[0], dtype=torch.bool, device=sampled.device)
    elif kept is None:
        kept = torch.rand(sampled.shape[0], device=sampled.device, generator=generator) >= chance
    return torch.where(_beside(kept, sampled), sampled, expected), kept


class Reinforce(nn.Module):
    """`−(λ_r (R − b) log p(s) + λ_e H)`, with a baseline b

    `size` is the width of the summary that a learned baseline reads.
    """

    average: Tensor
    variance: Tensor
    started: Tensor

    @ranged
    def __init__(
        self,
        size: int | None,
        baseline: Annotated[
            Literal["none", "moving", "learned", "others"],
            "baseline subtracted from the reward; others: the mean reward of the example's other samples",
        ] = "moving",
        decay: Annotated[BelowOne, "decay of the moving averages of the rewards"] = 0.9,
        scale: Annotated[NonNegative, "weight of the reward in the loss (λ_r)"] = 1.0,
        bonus: Annotated[NonNegative, "weight of the entropy bonus in the loss (λ_e)"] = 0.0,
        expected: Annotated[Probability, "probability that an example uses soft weights instead of a sample"] = 0.0,
        anneal: Annotated[
            Probability,
            "share of the training in which the probability of soft weights falls from 1 to its value (expected)",
        ] = 0.0,
        normalise: Annotated[bool, "divide rewards by their standard deviation"] = False,
        samples: Annotated[int, Range(1, 100), "samples per example with baseline=others"] = 2,
    ) -> None:
        super().__init__()
        if baseline == "learned" and size is None:
            raise RegardError("reinforce: a learned baseline without size", do="pass size=, the width of the summary")
        if baseline == "others" and samples < 2:
            raise RegardError(f"reinforce: baseline=others, samples={samples}", expected="at least 2 samples")
        self.baseline, self.decay, self.scale, self.bonus = baseline, decay, scale, bonus
        self.copies = samples if baseline == "others" else 1  # of each example, for a caller to draw
        self.expected, self.anneal, self.normalise = expected, anneal, normalise
        self.value = nn.Linear(size, 1) if baseline == "learned" and size is not None else None
        self.register_buffer("average", torch.tensor(0.0))  # of the reward
        self.register_buffer("variance", torch.tensor(1.0))  # of the reward around the baseline
        self.register_buffer("started", torch.tensor(False))
        self.sure = False  # that there is an average: asked of the device once, for it is never lost again

    def chance(self, progress: Progress) -> Progress:
        """The probability of soft weights when this share of the training is done."""
        if not self.anneal:
            return self.expected
        chance = 1 - (1 - self.expected) * progress / self.anneal
        return chance.clamp(min=self.expected) if isinstance(chance, Tensor) else max(chance, self.expected)

    def steady(self, progress: float) -> bool:
        """Whether later steps do the same as this one (see `regard.types.Network.steady`)."""
        return self.sure or self.baseline in ("none", "learned")

    def mix(
        self,
        sampled: Float[Tensor, "batch *rest"],
        expected: Float[Tensor, "batch *rest"],
        generator: torch.Generator | None = None,
        kept: Bool[Tensor, " batch"] | None = None,
        progress: Progress = 1.0,
    ) -> tuple[Float[Tensor, "batch *rest"], Bool[Tensor, " batch"]]:
        """`mix` with this module's chance, in training only; hand what it says was kept to `forward`."""
        return mix(sampled, expected, self.chance(progress) if self.training else 0.0, generator, kept)

    def forward(
        self,
        choices: Sequence[Selection] | Float[Tensor, "batch *step"],
        reward: Float[Tensor, " batch"],
        summary: Float[Tensor, "batch size"] | None = None,
        *,
        entropy: Float[Tensor, "batch *step"] | None = None,
        kept: Bool[Tensor, " batch"] | None = None,
        copies: int = 1,
    ) -> Float[Tensor, " batch"]:
        """The loss of what was chosen: `Selection`s that share the reward, or log-probabilities and entropy as tensors.

        An example that did not keep its sample teaches the policy by its entropy alone and the baseline not at all. The
        batch may be so many `copies` of one, each whole, one after the other.
        """
        if self.baseline == "others" and (copies < 2 or len(reward) % copies):
            got = f"reinforce: baseline=others, and {len(reward)} rewards of {copies} draws each"
            raise RegardError(got, expected="several samples per example", do="use baseline=moving or learned here")
        if isinstance(choices, Tensor):
            log_p = choices
        elif choices:
            log_p = torch.stack([choice.log_prob for choice in choices], dim=1)
            entropy = torch.stack([choice.entropy for choice in choices], dim=1)
        else:
            raise RegardError("reinforce: no choices", expected="the choices of a network that samples")
        R = wide(reward.detach())
        # One reward that is not a number must not stay in the averages for good; the loss still shows it.
        counts = R - R == 0
        if kept is not None:
            counts, log_p = counts & kept, torch.where(_beside(kept, log_p), log_p, 0.0)
        known = torch.where(counts, R, 0.0)
        n, total = counts.sum(), known.sum()
        self.sure = self.sure or bool(self.started)
        b = self._expect(known, counts, n, total, summary, copies)
        sigma = self.variance.sqrt().clamp(min=NOISE).to(R.dtype) if self.normalise else None
        of = (R, b) if sigma is None else (R / sigma, b / sigma)
        loss = surrogate(log_p, *of, entropy, self.scale, self.bonus)
        if self.training:  # after use: b may not know what was drawn
            self._follow(known, counts, n, total, b)
        if self.value is not None:
            loss = loss + torch.where(counts, known - b, 0.0) ** 2
        return loss

    def _expect(
        self,
        R: Float[Tensor, " batch"],
        counts: Bool[Tensor, " batch"],
        n: Int[Tensor, ""],
        total: Float[Tensor, ""],
        summary: Float[Tensor, "batch size"] | None,
        copies: int,
    ) -> Float[Tensor, " batch"]:
        """b, what is expected of each example before its choice is known; n rewards count, and make this total."""
        if self.value is not None:
            if summary is None:
                raise RegardError("reinforce: no summary", expected="the vectors that the learned baseline reads")
            with torch.autocast(summary.device.type, enabled=False):
                return wide(self.value(summary.detach().to(self.value.weight.dtype)).squeeze(-1)).to(R.dtype)
        if self.baseline == "none":
            return torch.zeros_like(R)
        # Before there is an average, the others of the batch stand in for it: they know nothing of this choice either.
        b = self.average.to(R.dtype).expand_as(R) if self.sure else (total - R) / (n - 1).clamp(min=1)
        if self.baseline != "others":
            return b
        drawn, there = R.view(copies, -1), counts.view(copies, -1).int()
        more = there.sum(0) - there
        mean = (drawn.sum(0) - drawn) / more.clamp(min=1)
        return torch.where(more > 0, mean, b.view(copies, -1)).flatten()  # one that is alone is measured by the average

    @torch.no_grad()
    def _follow(
        self,
        R: Float[Tensor, " batch"],
        counts: Bool[Tensor, " batch"],
        n: Int[Tensor, ""],
        total: Float[Tensor, ""],
        b: Float[Tensor, " batch"],
    ) -> None:
        """Move the averages; the first rewards are the average, so that it is never drawn to 0."""
        some = n > 0
        rate = some.to(self.average.dtype) * ((1 - self.decay) if self.sure else 1.0)
        sums = [(self.average, total)]
        if self.normalise:  # else nobody asks for it
            sums.append((self.variance, torch.where(counts, (R - b) ** 2, 0.0).sum()))
        for average, values in sums:
            average.lerp_((values / n.clamp(min=1)).to(average.dtype), rate)
        if not self.sure:
            self.started.logical_or_(some)

    def _load_from_state_dict(self, *given: Any) -> None:
        super()._load_from_state_dict(*given)
        self.sure = False
