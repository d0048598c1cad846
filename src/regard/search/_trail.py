"""The trail a beam leaves, and the way back along it: from where each hypothesis ended to where it began.

A row is one group of one sentence. Every step keeps its own candidates, `[row, rank]`, and its own weights,
`[batch, (head,) beam, key]`, once and as they are; nothing is copied when a hypothesis is continued. At the end
back-pointers lead from each of the n-best to its first token, and only what lies on their way is gathered.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.search._common import NOTHING, Hypothesis, gathered

__all__ = ["Mark", "in_beam", "spread", "walk_back"]


class Mark(NamedTuple):
    """One step: log p, token and parent of each candidate, and which candidates went on in which slot."""

    total: Float[Tensor, "row rank"]
    token: Int[Tensor, "row rank"]
    parent: Int[Tensor, "row rank"]
    order: Int[Tensor, "row slot"]


def in_beam(slots: Int[Tensor, "row some"], groups: int, width: int) -> Int[Tensor, "row some"]:
    """Slots of a row as places in its sentence's whole beam, where groups of `width` lie one after another."""
    if groups == 1:
        return slots
    return slots + (torch.arange(len(slots), device=slots.device) % groups * width)[:, None]


def walk_back(
    scores: Float[Tensor, "row nbest"],
    places: Int[Tensor, "row nbest"],
    trail: list[Mark],
    looks: list[Tensor],
    groups: int = 1,
) -> list[list[Hypothesis]]:
    """The n-best of every sentence. `places` says where each ended: step · ranks + rank."""
    totals, tokens, parents, orders = (torch.stack(parts).cpu() for parts in zip(*trail, strict=True))
    last, ranks = places // tokens.shape[-1], places % tokens.shape[-1]
    found, slots = torch.zeros(2, len(trail), *places.shape, dtype=torch.long)
    log_prob = torch.zeros_like(scores)
    slot = torch.zeros_like(places)  # meaningless until the last step of a hypothesis is reached
    for t in reversed(range(len(trail))):
        rank = torch.where(last == t, ranks, orders[t].gather(1, slot))
        slot = parents[t].gather(1, rank)
        # Before the first step a group has one hypothesis, then as many as went on.
        found[t], slots[t] = tokens[t].gather(1, rank), in_beam(slot, groups, orders.shape[-1] if t else 1)
        log_prob = torch.where(last == t, totals[t].gather(1, rank), log_prob)
    lengths = last + 1
    if groups > 1:
        # All groups' lists of a sentence side by side, and of them the n-best.
        sides = (part.unflatten(-2, (-1, groups)).flatten(-2) for part in (found, slots, lengths, scores, log_prob))
        found, slots, lengths, scores, log_prob = sides
        index = spread(found, lengths, scores, places.shape[1])
        found, slots = (part.gather(2, index.clamp_min(0).expand(len(part), *index.shape)) for part in (found, slots))
        lengths, scores, log_prob = (part.gather(1, index.clamp_min(0)) for part in (lengths, scores, log_prob))
        scores = scores.masked_fill(index < 0, NOTHING)
    return gathered(found, lengths, scores, log_prob, slots, looks)


def spread(
    found: Int[Tensor, "time batch some"],
    lengths: Int[Tensor, "batch some"],
    scores: Float[Tensor, "batch some"],
    n_best: int,
) -> Int[Tensor, "batch nbest"]:
    """Which hypotheses of groups of `n_best` each make one list: every group's first before any second, none twice.

    The best score comes first; −1 where there are not so many.
    """
    rows = []
    for words, sizes, score in zip(found.permute(1, 2, 0).tolist(), lengths.tolist(), scores.tolist(), strict=True):
        by_score = sorted((i for i in range(len(words)) if score[i] > NOTHING), key=score.__getitem__, reverse=True)
        unlike: dict[tuple[int, ...], int] = {}
        for i in sorted(by_score, key=lambda i: i % n_best):
            unlike.setdefault(tuple(words[i][: sizes[i]]), i)
        taken = set(list(unlike.values())[:n_best])
        row = [i for i in by_score if i in taken]
        rows.append([*row, *[-1] * (n_best - len(row))])
    return torch.tensor(rows)
