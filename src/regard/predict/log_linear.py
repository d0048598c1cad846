"""Several scores of each candidate as one: a weighted sum, whose weights suit known choices best.

    p(j | i) = softmax_j(Σ_k w_k f_k(i, j))          f_k(i, j): what score k gives candidate j of case i

`likeliest` has the weights under which the choices are most likely (McFadden 1974, "Conditional Logit Analysis of
Qualitative Choice Behavior"). The function is concave, so there is one best w; w₀ is what holds without cases, and a
few of them move it little:

    w = argmax Σ_i log p(own_i | i) − ½ |w − w₀|²

`best_ranked` has those, of some that are tried, that rank the choices best (mean reciprocal rank), as long as makes the
choices most likely. The two differ where a score is sure of itself and wrong: that costs likelihood without end, but
no more than a rank. Few cases would choose by chance, so it is the mean of what many samples of them choose, drawn with
replacement (bagging, Breiman 1996).

    likeliest([scores of case 1, …], own=[2, …], start=(0.5, 0.5))          # each scores [candidate, score]
    best_ranked([scores of case 1, …], own=[2, …], tried=[(0.5, 0.5), (1.0, 0.0)])
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["best_ranked", "likeliest"]

ROUNDS = 100
SAMPLES = 200


def likeliest(
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


def best_ranked(
    cases: Sequence[Float[Tensor, "candidate score"]], own: Sequence[int], tried: Sequence[tuple[float, ...]]
) -> tuple[float, ...]:
    """Of the weights that are tried those with the best mean reciprocal rank (the mean of those that are best on each
    of many samples of the cases), times a factor; the first without a case."""
    if not cases:
        return tuple(tried[0])
    directions = torch.tensor(tried)
    gained = torch.stack([_gained(scores @ directions.T, one) for scores, one in zip(cases, own, strict=True)])
    drawn = torch.randint(len(cases), (SAMPLES, len(cases)), generator=torch.Generator().manual_seed(1))
    best = directions[[int(gained[some].sum(0).argmax()) for some in drawn]].mean(0)
    [factor] = likeliest([(scores @ best)[:, None] for scores in cases], own, (1.0,))
    return tuple((factor * best).tolist())


def _gained(scores: Float[Tensor, "candidate tried"], own: int) -> Float[Tensor, " tried"]:
    """The reciprocal rank of a case."""
    return 1.0 / (1 + (scores > scores[own]).sum(0))
