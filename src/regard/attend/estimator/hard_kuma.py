"""HardKuma: gates of a stretched Kumaraswamy distribution, cut off at 0 and 1.

    k = (1 − (1 − u)^{1/b})^{1/a},   z = min(1, max(0, k (ζ − γ) + γ)),   P(z = 0) = 1 − (1 − t^a)^b,  t = −γ/(ζ − γ)

Bastings, Aziz & Titov 2019, "Interpretable Neural Predictions with Differentiable Binary Variables" (ACL), section 3,
with its γ = −0.1 and ζ = 1.1. Exact for relaxed gates, biased as an estimate for hard choices. Outside training a token
has a gate of 0, of 1, or of its mean in between (½ here), whichever is most likely, as in the paper (section 4).

Differs from the paper: one logit a token in place of two numbers, a = e^{l/2} and b = e^{−l/2}. So P(z ≠ 0) rises with
the logit, and l = 0 is the uniform distribution.

    HardKuma().draw(logits, mask).values
"""

from typing import ClassVar

import torch
from torch import Tensor

from regard.attend.bernoulli import expected_share, log_prob_and_entropy
from regard.attend.estimator import Estimator, Gates, uniform

__all__ = ["HardKuma"]

LOW, HIGH = -0.1, 1.1  # γ and ζ
MOST = 8.0  # of a logit: beyond it the gate is 0 or 1, and powers would leave float32


def _at_most(x: float, logits: Tensor) -> Tensor:
    """P(z ≤ x), for x from 0 to below 1."""
    a, b = torch.exp(logits / 2), torch.exp(-logits / 2)
    t = (x - LOW) / (HIGH - LOW)
    return 1 - (1 - t**a) ** b


class HardKuma(Estimator):
    """Gates of a stretched Kumaraswamy distribution, cut off at 0 and 1 (biased)"""

    passes: ClassVar[bool] = True
    unbiased: ClassVar[bool] = False

    def choose(self, logits: Tensor, mask: Tensor, sides: int = 1, copies: int = 1) -> Gates:
        l = logits.clamp(-MOST, MOST)  # noqa: E741
        u = uniform(l).clamp(1e-6, 1 - 1e-6)
        # 1 − u is as uniform as u. In logarithms: the powers run from 0.02 to 50.
        inner = -torch.expm1(torch.log(u) * torch.exp(l / 2))
        k = torch.exp(torch.log(inner.clamp(1e-12, 1.0)) * torch.exp(-l / 2))
        return self._gates(l, (k * (HIGH - LOW) + LOW).clamp(0, 1), mask)

    def decide(self, logits: Tensor, mask: Tensor) -> Gates:
        l = logits.clamp(-MOST, MOST)  # noqa: E741
        # The chance of 1 is that of k beyond (1 − γ)/(ζ − γ).
        none, one = _at_most(0.0, l), 1 - _at_most(1.0, l)
        between = 1 - none - one
        values = torch.where(between > torch.maximum(none, one), 0.5, (one >= none).to(l.dtype))
        return self._gates(l, values, mask)

    def _gates(self, logits: Tensor, values: Tensor, mask: Tensor) -> Gates:
        values = values.masked_fill(~mask, 0.0)
        chosen = values > 0
        p = 1 - _at_most(0.0, logits)
        log_p, entropy = log_prob_and_entropy(torch.logit(p, 1e-6), chosen, mask)
        return Gates(chosen, torch.zeros_like(log_p), entropy, expected_share(p, mask), values)
