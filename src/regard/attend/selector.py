"""Selector: selects the tokens to attend to (RSS, reinforced sequence sampling).

    p(z_i = 1) = σ(wᵀ act(W f_i + b) + b'),   f_i = [x_i; pool(x); x_i ⊙ pool(x)],   p(z) = Π_i p(z_i)

Shen et al. 2018, "Reinforced Self-Attention Network" (IJCAI), section 3.1: every token knows the whole sentence
through its mean, so all are chosen in parallel and not one after another. act is ELU, as in the authors' code.

The policy learns by its reward alone (attend/reinforce.py) and the rest of the network by its own loss alone: x is
read detached, so the log-probability sends no gradient into it.

    selector = Selector(inputs=300, names=("heads", "dependents"))       # two policies, side by side
    heads, dependents = selector(x, mask, sample=True);  heads.chosen, heads.log_prob, heads.entropy

Several policies on the same input are computed as one product: a training step is short, so on a GPU the number of
operations counts more than their size.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import elu_, logsigmoid

from regard.types import Selection, wide

__all__ = ["Selector", "log_prob_and_entropy", "share"]

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
    mask: Bool[Tensor, "batch time"],
) -> tuple[Float[Tensor, "*some batch"], Float[Tensor, "*some batch"]]:
    """How likely this choice is, `Σ_i log p(z_i)`, and how open it was, `Σ_i H[z_i]`, over the tokens there are.
    Nothing is chosen where there is no token."""
    _, log_p, H = _Bernoulli.apply(logits, chosen, mask)  # type: ignore[no-untyped-call]
    return log_p, H


def share(
    chosen: Bool[Tensor, "*some batch time"], mask: Bool[Tensor, "batch time"], dtype: torch.dtype = torch.float32
) -> Float[Tensor, "*some batch"]:
    """`Σ z_i / len(x)`, what a choice is priced by; 0 where there is no token."""
    return (chosen & mask).sum(-1, dtype=dtype) / mask.sum(-1).clamp(min=1)


class Selector(nn.Module):
    """`p(z_i = 1) = σ(wᵀ elu(W f_i + b) + b')`, a yes or no for each token, by one policy for each name

    `start` is where b' begins. With w begun small every token is at first chosen with about σ(start), 0.73: the most
    likely choice is everything, so an untrained policy leaves nothing out, while a sampled one already explores.
    """

    def __init__(
        self, inputs: int, hidden: int | None = None, start: float = 1.0, names: Sequence[str] = ("tokens",)
    ) -> None:
        super().__init__()
        hidden, self.names = inputs if hidden is None else hidden, tuple(names)
        policies, bound = len(self.names), (3 * inputs) ** -0.5  # as in a linear layer of PyTorch's
        self.W = nn.Parameter(torch.empty(policies, 3 * inputs, hidden).uniform_(-bound, bound))
        self.b = nn.Parameter(torch.empty(policies, 1, hidden).uniform_(-bound, bound))
        small = 0.1 * hidden**-0.5  # a tenth of the usual
        self.w = nn.Parameter(torch.empty(policies, hidden, 1).uniform_(-small, small))
        self.start = nn.Parameter(torch.full((policies, 1, 1), start))  # b'

    def logits(
        self, x: Float[Tensor, "batch time inputs"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "policy batch time"]:
        """`log p/(1 − p)` of each token, in float32 also under autocast; what padding holds does not matter."""
        with torch.autocast(x.device.type, enabled=False):
            x = x.detach().to(self.W.dtype).masked_fill(~mask.unsqueeze(-1), 0.0)
            pool = x.sum(1, keepdim=True) / mask.sum(-1).clamp(min=1)[:, None, None]
            f = torch.cat([x, pool.expand_as(x), x * pool], -1).flatten(0, 1).expand(len(self.names), -1, -1)
            h = elu_(torch.baddbmm(self.b, f, self.W))  # in place: what comes out is kept for the way back anyway
            logits = torch.baddbmm(self.start, h, self.w).view(len(self.names), *mask.shape)
        return wide(logits)

    def probabilities(
        self, x: Float[Tensor, "batch time inputs"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "policy batch time"]:
        """p(z_i = 1), exactly 0 at padding."""
        return torch.sigmoid(self.logits(x, mask)).masked_fill(~mask, 0.0)

    def forward(
        self,
        x: Float[Tensor, "batch time inputs"],
        mask: Bool[Tensor, "batch time"],
        sample: bool,
        generator: torch.Generator | None = None,
    ) -> tuple[Selection, ...]:
        """Tokens drawn at random or, without `sample`, the most likely choice (p ≥ ½); padding is never chosen."""
        logits = self.logits(x, mask)
        if sample:
            given = torch.rand(logits.shape, dtype=logits.dtype, device=logits.device, generator=generator)
        else:
            given = (logits >= 0) & mask
        return tuple(map(Selection, self.names, *_Bernoulli.apply(logits, given, mask)))  # type: ignore[no-untyped-call]
