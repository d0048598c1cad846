"""DisARM: two opposite choices of the same sentence, `½ (R(z) − R(z̃)) (z_i − z̃_i) σ(|l_i|)` for each token.

    z_i = 1[u_i < p_i],   z̃_i = 1[1 − u_i < p_i]

Dong, Mnih & Tucker 2020, "DisARM: An Antithetic Gradient Estimator for Binary Latent Variables" (NeurIPS), equation 8
(also found by Yin, Ho, Yan, Qian & Zhou 2020 as U2G). Unbiased. Tokens that both choices treat alike get no gradient at
all, where REINFORCE gives them noise.

    Disarm().draw(logits, mask, sides=1, copies=2)
"""

import torch
from torch import Tensor

from regard.attend.bernoulli import expected_share, log_prob_and_entropy
from regard.attend.estimator import Estimator, Gates, uniform

__all__ = ["Disarm"]


class Disarm(Estimator):
    """`½ (R(z) − R(z̃)) (z − z̃) σ(|l|)` of two opposite choices z and z̃"""

    copies = 2

    def choose(self, logits: Tensor, mask: Tensor, sides: int = 1, copies: int = 2) -> Gates:
        policies, time = logits.shape[0], logits.shape[-1]
        each = logits.view(policies, sides, copies, -1, time)
        # The logits of the first copy alone: dropout may have given the second others.
        l = each[:, :, 0]  # noqa: E741
        u, p = uniform(l), torch.sigmoid(l)
        there = mask.view(sides, copies, -1, time)[:, 0]
        z, other = (u < p) & there, (1 - u < p) & there
        # The loss is the mean over both copies, so each takes the whole of the estimate and not its half.
        slope = (z.to(l.dtype) - other.to(l.dtype)) * torch.sigmoid(l.abs())
        score = (slope.detach() * l.masked_fill(~there, 0.0)).sum(-1)
        _, entropy = log_prob_and_entropy(l, z, there)
        share = expected_share(p, there)
        chosen, scores = torch.stack([z, other], 2), torch.stack([score, -score], 2)
        twice = (torch.stack([one, one], 2).flatten(1) for one in (entropy, share))
        return Gates(chosen.flatten(1, 3), scores.flatten(1), *twice)
