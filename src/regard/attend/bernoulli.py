"""Independent choices, a yes or no for each token: how likely they were, how open, and which share was chosen.

p(z) = Π_i p_i^{z_i} (1 − p_i)^{1 − z_i},   p_i = σ(l_i)

log_p, H = log_prob_and_entropy(logits, chosen, mask)
expected_share(torch.sigmoid(logits), mask)                  # E[Σ z_i / len(x)], exact and with a gradient
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import logsigmoid

__all__ = ["chosen_with", "expected_share", "heaviest", "log_prob_and_entropy", "share"]

NEVER = -1e4  # a logit whose p, log(1 − p) and entropy are exactly 0


class _Bernoulli(torch.autograd.Function):
    """What is chosen, `Σ log p(z)` and `ΣH`: `∂ log p(z)/∂l = z − p` and `∂H/∂l = −l p (1 − p)` for every token.

    `given` is the choice, or the numbers from 0 to 1 it is drawn with.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, given: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        l = logits.masked_fill(~mask, NEVER)  # noqa: E741
        # σ(−l) and not 1 − σ(l): where l is large the product then goes to 0 with full precision.
        both = torch.stack([l, -l])
        log_p, p = logsigmoid(both), torch.sigmoid(both)
        chosen = given.view_as(given) if given.dtype == torch.bool else given < p[0]
        ctx.save_for_backward(l, p, chosen)
        ctx.mark_non_differentiable(chosen)
        ctx.set_materialize_grads(False)  # the entropy is often asked for by nobody
        return chosen, torch.where(chosen, log_p[0], log_p[1]).sum(-1), -(p * log_p).sum((0, -1))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: None, of_log_p: Tensor | None, of_H: Tensor | None) -> tuple[Tensor | None, None, None]:
        l, (yes, no), chosen = ctx.saved_tensors  # noqa: E741
        slope = None if of_log_p is None else of_log_p.unsqueeze(-1) * torch.where(chosen, no, -yes)
        if of_H is not None:
            opening = of_H.unsqueeze(-1) * (-l * yes * no)
            slope = opening if slope is None else slope + opening
        return slope, None, None


def log_prob_and_entropy(
    logits: Float[Tensor, "*some batch time"],
    chosen: Bool[Tensor, "*some batch time"],
    mask: Bool[Tensor, "*_ batch time"],
) -> tuple[Float[Tensor, "*some batch"], Float[Tensor, "*some batch"]]:
    """How likely this choice is, `Σ_i log p(z_i)`, and how open it was, `Σ_i H[z_i]`, over the tokens there are.
    Nothing is chosen where there is no token."""
    _, log_p, H = _Bernoulli.apply(logits, chosen, mask)  # type: ignore[no-untyped-call]
    return log_p, H


def chosen_with(
    logits: Float[Tensor, "*some batch time"],
    draws: Float[Tensor, "*some batch time"],
    mask: Bool[Tensor, "batch time"],
) -> tuple[Bool[Tensor, "*some batch time"], Float[Tensor, "*some batch"], Float[Tensor, "*some batch"]]:
    """What numbers drawn from 0 to 1 choose (those below p), with the log-probability and entropy of the choice."""
    return _Bernoulli.apply(logits, draws, mask)  # type: ignore[no-untyped-call, no-any-return]


def share(
    chosen: Bool[Tensor, "*some batch time"], mask: Bool[Tensor, "batch time"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*some batch"]:
    """`Σ z_i / len(x)`, what a choice is priced by; 0 where there is no token."""
    return (chosen & mask).sum(-1, dtype=dtype) / mask.sum(-1).clamp(min=1)


def expected_share(
    p: Float[Tensor, "*some batch time"], mask: Bool[Tensor, "*_ batch time"]
) -> Float[Tensor, "*some batch"]:
    """`Σ p_i / len(x)`: what `share` is on average. Its gradient is exact, where that of a sampled share is noise."""
    return p.masked_fill(~mask, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)


def heaviest(
    weights: Float[Tensor, "*some batch time"], mask: Bool[Tensor, "batch time"], share: float
) -> Bool[Tensor, "*some batch time"]:
    """The share of the tokens with the largest weights, to the nearest number, but one at least."""
    wanted = torch.round(share * mask.sum(-1, keepdim=True)).clamp(min=1)
    order = weights.masked_fill(~mask, -torch.inf).argsort(dim=-1, descending=True, stable=True).argsort(-1)
    return (order < wanted) & mask
