"""Selector: selects the tokens to attend to (RSS, reinforced sequence sampling).

    p(z_i = 1) = σ(wᵀ act(W f_i + b) + b'),   f_i = [x_i; pool(x); x_i ⊙ pool(x)],   p(z) = Π_i p(z_i)

Shen et al. 2018, "Reinforced Self-Attention Network" (IJCAI), section 3.1: every token knows the whole sentence
through its mean, so all are chosen in parallel and not one after another. act is ELU, as in the authors' code.

The policy learns by its reward alone (attend/estimator) and the rest of the network by its own loss alone: x is
read detached, so the log-probability sends no gradient into it.

    selector = Selector(inputs=300, names=("heads", "dependents"))       # two policies, side by side
    heads, dependents = selector(x, mask, sample=True);  heads.chosen, heads.log_prob, heads.entropy

Several policies on the same input are computed as one product: a training step is short, so on a GPU the number of
operations counts more than their size.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import elu_

from regard.attend.estimator import Draw, Gates, most_likely, sampled
from regard.types import Selection, wide

__all__ = ["Selector"]


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
        draw: Draw = sampled,
    ) -> tuple[Selection, ...]:
        """Tokens drawn at random or, without `sample`, the most likely choice (p ≥ ½); padding is never chosen.

        `draw` makes a choice of the logits: an estimator's, in training (`regard.attend.estimator`).
        """
        gates: Gates = (draw if sample else most_likely)(self.logits(x, mask), mask)
        none = [None] * len(self.names)
        decided, values = (none if one is None else one for one in (gates.decided, gates.values))
        each = zip(self.names, gates.chosen, gates.score, gates.entropy, gates.expected, decided, values, strict=True)
        return tuple(Selection(*one) for one in each)
