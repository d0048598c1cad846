"""Ranking: each user's best candidates, and where a target stands among them, a block of users and items at a time.

Nothing is kept for a pair of user and item but the block at hand, so 10,000 users with 100,000 items each fit into any
machine. Items that a user has had are no candidates, unless asked for. How many candidates score higher than the target
and how many the same (to within rounding) is counted, so that nobody gains from the order of equals.

    found = ranked(network, [[4, 7], [5]], [[4, 7], [5]], targets=[6, 7], top=10);  found.items, found.above
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.fields.history import FIRST
from regard.networks.recommend import Recommender
from regard.types import Sequences

__all__ = ["Ranking", "ranked"]

BLOCK = 2**23  # scores that are held at once
USERS = 2**13  # read together
ROUNDING = 1e-5  # scores that differ by less, relative to their size, count as equal


@dataclass(frozen=True)
class Ranking:
    """The best of each user, and the target among the candidates."""

    items: Int[Tensor, "user top"]  # item numbers, best first
    scores: Float[Tensor, "user top"]  # −inf where there are no more candidates
    total: Float[Tensor, " user"]  # log Σ exp of all candidates' scores
    target: Float[Tensor, " user"]  # the target's score; NaN for one that cannot be recommended
    above: Int[Tensor, " user"]  # candidates that score higher than the target; all of them where it is none
    equal: Int[Tensor, " user"]  # other candidates with the same score
    others: Int[Tensor, " user"]  # candidates beside the target


@torch.no_grad()
def ranked(
    network: Recommender,
    histories: Sequence[Sequence[int]],
    seen: Sequence[Sequence[int]],
    targets: Sequence[int] = (),
    top: int = 1,
) -> Ranking:
    """Histories, targets and what is no candidate (`seen`) by their item numbers. Without targets none are counted."""
    users, top = len(histories), min(top, network.candidates)
    targets = targets or [0] * users
    parts = [
        _block(network, histories[first:last], seen[first:last], targets[first:last], top)
        for first, last in ((first, first + USERS) for first in range(0, users, USERS))
    ]
    return Ranking(*(torch.cat([getattr(one, field.name) for one in parts]) for field in fields(Ranking)))


def _block(
    network: Recommender,
    read: Sequence[Sequence[int]],
    seen: Sequence[Sequence[int]],
    wanted: Sequence[int],
    top: int,
) -> Ranking:
    users, items, device = len(read), network.candidates, network.embed.learned.device
    histories = Sequences.pad(read).to(device)
    targets = torch.tensor(wanted, dtype=torch.long, device=device)
    state = network.state(histories)
    rows = torch.tensor([user for user, row in enumerate(seen) for _ in row], dtype=torch.long, device=device)
    out = torch.tensor([number - FIRST for row in seen for number in row], dtype=torch.long, device=device)
    rows, out = rows[out >= 0], out[out >= 0]  # what is not known is no candidate
    place = targets - FIRST
    hidden = torch.zeros(users, dtype=torch.bool, device=device)  # whether the target is among the seen
    hidden[rows[out == place[rows]]] = True
    known = (place >= 0) & ~hidden
    step = max(1, BLOCK // max(1, users))
    blocks = range(0, items, step)

    def block(first: int) -> Tensor:
        """Scores, with −inf for what is no candidate."""
        last = min(first + step, items)
        scores = network.scores(state, first, last).float()
        here = (out >= first) & (out < last)
        scores[rows[here], out[here] - first] = -torch.inf
        return scores

    whole = block(0) if len(blocks) == 1 else None
    if whole is not None:
        goal = whole.gather(1, place.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    else:
        goal = network.direct(histories, targets.clamp(min=FIRST).unsqueeze(-1)).squeeze(-1).float()
    goal = goal.masked_fill(~known, torch.nan)  # nothing is more than NaN, nor equal to it
    near = ROUNDING * goal.abs().clamp(min=1.0)
    above = torch.zeros(users, dtype=torch.long, device=device)
    equal, others = torch.zeros_like(above), torch.zeros_like(above)
    total = torch.full((users,), -torch.inf, device=device)
    best = torch.full((users, top), -torch.inf, device=device)
    chosen = torch.zeros(users, top, dtype=torch.long, device=device)
    for first in blocks:
        scores = block(first) if whole is None else whole
        total = torch.logaddexp(total, scores.logsumexp(-1))
        best, chosen = _best(best, chosen, scores, first)
        own = known & (place >= first) & (place < first + step)
        scores[own, place[own] - first] = -torch.inf
        others += scores.isfinite().sum(-1)
        above += (scores > (goal + near).unsqueeze(-1)).sum(-1)
        equal += ((scores - goal.unsqueeze(-1)).abs() <= near.unsqueeze(-1)).sum(-1)
    return Ranking(
        chosen + FIRST,
        best,
        total,
        goal,
        torch.where(known, above, others),
        torch.where(known, equal, 0),
        others,
    )


def _best(best: Tensor, chosen: Tensor, scores: Tensor, first: int) -> tuple[Tensor, Tensor]:
    """The best so far and those of a block."""
    top = best.shape[1]
    found = scores.topk(min(top, scores.shape[1]), sorted=True)
    both, numbers = torch.cat([best, found.values], 1), torch.cat([chosen, found.indices + first], 1)
    kept = both.topk(top, sorted=True)
    return kept.values, numbers.gather(1, kept.indices)
