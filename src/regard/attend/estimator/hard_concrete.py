"""Hard concrete: gates between 0 and 1 that are exactly 0 or exactly 1 with some probability.

    s = σ((log u − log(1 − u) + l) / β),   z = min(1, max(0, s (ζ − γ) + γ)),   P(z ≠ 0) = σ(l − β log(−γ/ζ))

Louizos, Welling & Kingma 2018, "Learning Sparse Neural Networks through L0 Regularization" (ICLR), section 2.2, with
its β = ⅔, γ = −0.1 and ζ = 1.1. The gradient is that of the relaxed gates, and exact for them; as an estimate for hard
choices it is biased. The share of tokens is that of gates that are not 0, in closed form.

Outside training a token has the gate `min(1, max(0, σ(l) (ζ − γ) + γ))`, as in the paper (section 3.1).

    HardConcrete().draw(logits, mask).values
"""

import math
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from regard.attend.bernoulli import expected_share, log_prob_and_entropy
from regard.attend.estimator import Estimator, Gates, uniform
from regard.ranges import Range, ranged

__all__ = ["HardConcrete"]

LOW, HIGH = -0.1, 1.1  # γ and ζ


class HardConcrete(Estimator):
    """Gates of a stretched binary concrete distribution, cut off at 0 and 1 (biased)"""

    passes: ClassVar[bool] = True
    unbiased: ClassVar[bool] = False

    @ranged
    def __init__(
        self,
        temperature: Annotated[float, Range(0, 10, above=True), "temperature β; lower gives harder gates"] = 2 / 3,
    ) -> None:
        super().__init__()
        self.temperature = temperature

    def choose(self, logits: Tensor, mask: Tensor, sides: int = 1, copies: int = 1) -> Gates:
        u = uniform(logits).clamp(1e-6, 1 - 1e-6)
        return self._gates(logits, (torch.logit(u) + logits) / self.temperature, mask)

    def decide(self, logits: Tensor, mask: Tensor) -> Gates:
        return self._gates(logits, logits, mask)

    def _gates(self, logits: Tensor, inner: Tensor, mask: Tensor) -> Gates:
        values = (torch.sigmoid(inner) * (HIGH - LOW) + LOW).clamp(0, 1).masked_fill(~mask, 0.0)
        shifted = logits - self.temperature * math.log(-LOW / HIGH)
        chosen = values > 0
        log_p, entropy = log_prob_and_entropy(shifted, chosen, mask)
        return Gates(chosen, torch.zeros_like(log_p), entropy, expected_share(torch.sigmoid(shifted), mask), values)
