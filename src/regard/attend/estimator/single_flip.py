"""Single flip: the credit of one token is what changes when its choice flips, `p_i (1 − p_i) (R(z_i=1) − R(z_i=0))`.

Each sentence is read once as it was drawn and `flips` times with one token flipped, taken at random among its n tokens
(of all inputs and policies); its credit counts n / flips times. Titsias & Lázaro-Gredilla 2015, "Local Expectation
Gradients for Black Box Variational Inference" (NeurIPS), with one coordinate for all. Unbiased: the noise is in which
token was asked, not in what the others did.

By first order, `R(z_i=1) − R(z_i=0) ≈ ∂R/∂z_i`, every token is asked at once with one backward pass, and the estimate
is that of `straight_through_bernoulli`, which is biased.

    SingleFlip(flips=1).draw(logits, mask, sides=1, copies=2)
"""

from typing import Annotated

import torch
from torch import Tensor

from regard.attend.bernoulli import expected_share, log_prob_and_entropy
from regard.attend.estimator import Estimator, Gates, uniform
from regard.ranges import Range, ranged

__all__ = ["SingleFlip"]


class SingleFlip(Estimator):
    """`n p (1 − p) (R(z_i = 1) − R(z_i = 0))` for a token i at random"""

    @ranged
    def __init__(
        self, flips: Annotated[int, Range(1, 99), "tokens asked for each example, each in a reading of its own"] = 1
    ) -> None:
        super().__init__()
        self.flips, self.copies = flips, flips + 1

    def choose(self, logits: Tensor, mask: Tensor, sides: int = 1, copies: int = 2) -> Gates:
        policies, time = logits.shape[0], logits.shape[-1]
        l = logits.view(policies, sides, copies, -1, time)[:, :, 0]  # noqa: E741
        there = mask.view(sides, copies, -1, time)[:, 0]
        p = torch.sigmoid(l)
        z = (uniform(l) < p) & there
        # Every token of an example, of all its inputs and policies, in one row to take one from.
        places = there.expand_as(z).permute(2, 0, 1, 3).flatten(1)
        n = places.sum(-1)
        asked = torch.zeros((self.flips, *places.shape), dtype=torch.bool, device=l.device)
        order = torch.rand(asked.shape, device=l.device).masked_fill(~places, -1.0)
        asked.scatter_(-1, order.argmax(-1, keepdim=True), True)
        asked &= places  # an example without a token has none to ask
        shape = (self.flips, -1, policies, sides, time)
        flipped = asked.view(shape).permute(2, 3, 0, 1, 4)  # [policy, side, flip, batch, time]
        sign = torch.where(z, 1.0, -1.0).to(l.dtype)
        slope = (sign * p * (1 - p) * n.to(l.dtype)[:, None] * (copies / self.flips)).detach().unsqueeze(2)
        credit = (flipped * slope * l.masked_fill(~there, 0.0).unsqueeze(2)).sum(-1)
        # Row 0 stands for the choice as drawn, the others for it with a token flipped: each is a difference of two.
        score = torch.cat([credit.sum(2, keepdim=True), -credit], 2)
        chosen = torch.cat([z.unsqueeze(2), z.unsqueeze(2) ^ flipped], 2)
        _, entropy = log_prob_and_entropy(l, z, there)
        share = expected_share(p, there)
        each = (one.unsqueeze(2).expand(-1, -1, copies, -1).flatten(1) for one in (entropy, share))
        return Gates(chosen.flatten(1, 3), score.flatten(1), *each)
