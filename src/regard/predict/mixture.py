"""Mixture: hard attention by exact marginal likelihood. Predict from each position alone, then mix the predictions.

    soft       p(y_j) = softmax(g(s_j, Σ_i a_ji v_i))
    mixture    p(y_j) = Σ_i a_ji softmax(g(s_j, v_i))

The position that a word comes from is a hidden variable, and the sum over all of them needs no sampling: the gradient
is exact. Wu, Shapiro & Cotterell 2018, "Hard Non-Monotonic Attention for Character-Level Transduction" (EMNLP), section
3; Deng, Kim, Chiu, Guo & Rush 2018, "Latent Alignment and Variational Attention" (NeurIPS), section 3.1.

The output layer runs once for each position, so only the `top` positions of each step take part, with their weights
divided by their sum. With `top` at least the number of positions the sum is exact. The sum is over one step, so no
later step may depend on what was looked at: the decoder attends after its step and feeds nothing back.

    log_p = mixed(look.weights, memory.values, logits_of, top=4)       # [batch, query, vocab]
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from regard.types import wide

__all__ = ["mixed"]

TINY = 1e-30  # a row without anything to look at has weights of 0


def mixed(
    weights: Float[Tensor, "batch query key"],
    values: Float[Tensor, "batch key value"],
    logits_of: Callable[[Float[Tensor, "batch query value"]], Float[Tensor, "batch query vocab"]],
    top: int,
) -> Float[Tensor, "batch query vocab"]:
    """`log Σ_i a_i softmax(logits_of(v_i))` over the heaviest `top` positions of each query."""
    a, places = wide(weights).topk(min(top, weights.shape[-1]), -1)
    log_a = (a / a.sum(-1, keepdim=True).clamp(min=TINY)).clamp(min=TINY).log()
    size = values.shape[-1]

    def said(which: int) -> Tensor:
        alone = values.gather(1, places[..., which].unsqueeze(-1).expand(-1, -1, size))
        return log_a[..., which, None] + torch.log_softmax(wide(logits_of(alone)), -1)

    total = said(0)
    for which in range(1, a.shape[-1]):  # one after the other: all at once would be as many times the vocabulary
        total = torch.logaddexp(total, said(which))
    return total
