"""Selector: which tokens are worth attending to (RSS, reinforced sequence sampling).

    p(z_i = 1) = σ(wᵀ act(W f_i + b) + b'),   f_i = [x_i; pool(x); x_i ⊙ pool(x)],   p(z) = Π_i p(z_i)

Shen et al. 2018, "Reinforced Self-Attention Network" (IJCAI), section 3.1: every token knows the whole sentence
through its mean, so all are chosen in parallel and not one after another. act is ELU, as in the authors' code.

The policy learns by its reward alone (attend/reinforce.py) and the rest of the network by its own loss alone: x is
read detached, so the log-probability sends no gradient into it.

    selector = Selector(inputs=300)
    choice = selector.choose(x, mask, "heads", sample=True);  choice.chosen, choice.log_prob, choice.entropy
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import elu, linear, logsigmoid

from regard.types import Choice

__all__ = ["Selector", "share", "weigh_up"]


def weigh_up(
    logits: Float[Tensor, "batch time"], chosen: Bool[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """How likely this choice is, `Σ_i log p(z_i)`, and how open it was, `Σ_i H[z_i]`, over the tokens there are."""
    yes, no = logsigmoid(logits), logsigmoid(-logits)
    log_p = torch.where(chosen, yes, no).masked_fill(~mask, 0.0).sum(-1)
    # σ(−l) and not 1 − σ(l): where l is large the product then goes to 0 with full precision.
    H = -(torch.sigmoid(logits) * yes + torch.sigmoid(-logits) * no)
    return log_p, H.masked_fill(~mask, 0.0).sum(-1)


def share(chosen: Bool[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, " batch"]:
    """`Σ z_i / len(x)`, what a choice is priced by; 0 where there is no token."""
    return (chosen & mask).sum(-1) / mask.sum(-1).clamp(min=1)


class Selector(nn.Module):
    """`p(z_i = 1) = σ(wᵀ elu(W f_i + b) + b')`, a yes or no for each token

    `start` is where b' begins. With w begun small every token is at first chosen with about σ(start), 0.73: the most
    likely choice is everything, so an untrained policy leaves nothing out, while a sampled one already explores.
    """

    def __init__(self, inputs: int, hidden: int | None = None, start: float = 1.0) -> None:
        super().__init__()
        hidden = inputs if hidden is None else hidden
        self.W = nn.Linear(3 * inputs, hidden)  # carries b
        self.w = nn.Linear(hidden, 1)  # carries b'
        with torch.no_grad():
            self.w.weight.uniform_(-0.1 * hidden**-0.5, 0.1 * hidden**-0.5)  # a tenth of the usual
            self.w.bias.fill_(start)

    def logits(
        self, x: Float[Tensor, "batch time inputs"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time"]:
        """`log p/(1 − p)` of each token, in float32 also under autocast; what padding holds does not matter."""
        with torch.autocast(x.device.type, enabled=False):
            x = x.detach().to(self.W.weight.dtype).masked_fill(~mask.unsqueeze(-1), 0.0)
            pool = x.sum(1, keepdim=True) / mask.sum(-1).clamp(min=1)[:, None, None]
            # W f_i in three parts: that of pool(x) is the same for all tokens of a sentence, so it is worked out once.
            W_x, W_pool, W_both = self.W.weight.chunk(3, dim=1)
            h = elu(linear(x, W_x, self.W.bias) + linear(pool, W_pool) + linear(x * pool, W_both))
            logits: Tensor = self.w(h).squeeze(-1)
        return logits.to(torch.promote_types(logits.dtype, torch.float32))

    def probabilities(
        self, x: Float[Tensor, "batch time inputs"], mask: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time"]:
        """p(z_i = 1), exactly 0 at padding."""
        return torch.sigmoid(self.logits(x, mask)).masked_fill(~mask, 0.0)

    def choose(
        self,
        x: Float[Tensor, "batch time inputs"],
        mask: Bool[Tensor, "batch time"],
        name: str,
        sample: bool,
        generator: torch.Generator | None = None,
    ) -> Choice:
        """Tokens drawn at random or, without `sample`, the most likely choice (p ≥ ½); padding is never chosen."""
        logits = self.logits(x, mask)
        p = torch.sigmoid(logits.detach())
        drawn = torch.rand(p.shape, dtype=p.dtype, device=p.device, generator=generator) < p if sample else p >= 0.5
        chosen = drawn & mask
        log_prob, entropy = weigh_up(logits, chosen, mask)
        return Choice(name, chosen, log_prob, entropy)

    def forward(
        self,
        x: Float[Tensor, "batch time inputs"],
        mask: Bool[Tensor, "batch time"],
        sample: bool,
        name: str = "tokens",
        generator: torch.Generator | None = None,
    ) -> Choice:
        return self.choose(x, mask, name, sample, generator)
