"""Several scores of each candidate as one: a weighted sum, with the weights that suit known choices best.

    p(j | i) = softmax_j(Σ_k w_k f_k(i, j))          f_k(i, j): what score k gives candidate j of case i
    w = argmax Σ_i log p(own_i | i) − ½ |w − w₀|²

McFadden 1974, "Conditional Logit Analysis of Qualitative Choice Behavior". The function is concave, so there is one best
w; w₀ is what holds without cases, and a few of them move it little.

    fitted([scores of case 1, …], own=[2, …], start=(0.5, 0.5))          # each scores [candidate, score]
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["fitted"]

ROUNDS = 100


def fitted(
    cases: Sequence[Float[Tensor, "candidate score"]], own: Sequence[int], start: Sequence[float]
) -> tuple[float, ...]:
    """The weight of each score."""
    before = torch.tensor(start, dtype=torch.float64)
    weights = before.clone().requires_grad_()
    # Only differences within a case count; small numbers are added up more exactly.
    apart = [(scores - scores[one]).double() for scores, one in zip(cases, own, strict=True)]
    search = torch.optim.LBFGS(
        [weights], max_iter=ROUNDS, tolerance_grad=1e-7, tolerance_change=1e-10, line_search_fn="strong_wolfe"
    )

    def unlikely() -> Tensor:
        search.zero_grad()
        loss = 0.5 * (weights - before).square().sum()
        for one in apart:
            loss = loss + (one @ weights).logsumexp(0)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    with torch.enable_grad():
        search.step(unlikely)  # type: ignore[no-untyped-call]
    return tuple(weights.tolist())
