"""Pointers: predict the first and the last position of an answer. One module per pointer.

A pointer reads a vector for each position and scores every position as the start and as the end, once or in several
turns. The loss is the cross entropy of both, summed over the turns; where several spans are right, −log of the sum of
their probabilities. `spans` finds the best pairs of a start and an end.

    found = Dynamic(inputs=400)(values, mask)
    spans(found.start[:, -1], found.end[:, -1], mask, longest=30, count=5).scores      # [batch, 5]
"""

import math
from abc import abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import log_softmax, pad

from regard.types import Rows, wide

__all__ = ["Point", "Pointed", "Spans", "hidden", "nats", "spans"]


@dataclass(frozen=True)
class Pointed(Rows):
    """The scores of each turn; padding has the lowest. `path` are the positions that each turn settled on."""

    start: Float[Tensor, "batch turn time"]
    end: Float[Tensor, "batch turn time"]
    path: Int[Tensor, "batch turn 2"]


@dataclass(frozen=True)
class Spans(Rows):
    """The best pairs of a start and an end, best first; a score of −inf where there are no more. `total` is the
    logarithm of the sum of the exponents of all of them."""

    places: Int[Tensor, "batch count 2"]
    scores: Float[Tensor, "batch count"]
    total: Float[Tensor, " batch"]


class Point(nn.Module):
    """The interface of a pointer; `inputs` is the width of the vectors it reads."""

    @abstractmethod
    def forward(self, values: Float[Tensor, "batch time inputs"], mask: Bool[Tensor, "batch time"]) -> Pointed:
        raise NotImplementedError


def hidden(scores: Float[Tensor, "batch time"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch time"]:
    """The scores in float32 at least, the lowest there are where nothing may be pointed at."""
    scores = wide(scores)
    return scores.masked_fill(~mask, torch.finfo(scores.dtype).min)


def nats(found: Pointed, target: Int[Tensor, "batch place 2"]) -> Float[Tensor, "batch turn"]:
    """−log p of the true start and end, at each turn. Of several true places p is the sum (Clark & Gardner 2018,
    "Simple and Effective Multi-Paragraph Reading Comprehension", section 3.2); −1 where an example has fewer."""
    at = target.clamp(min=0).unsqueeze(1).expand(-1, found.start.shape[1], -1, -1)  # [batch, turn, place, 2]
    start, end = (
        log_softmax(scores, -1).gather(2, at[..., side]) for side, scores in enumerate((found.start, found.end))
    )
    return -(start + end).masked_fill(target[:, None, :, 0] < 0, -math.inf).logsumexp(2)


def spans(
    start: Float[Tensor, "batch time"],
    end: Float[Tensor, "batch time"],
    mask: Bool[Tensor, "batch time"],
    longest: int,
    count: int,
) -> Spans:
    """The best `start_i + end_j` with i ≤ j < i + longest, both at positions that the mask shows."""
    time = start.shape[1]
    longest = min(longest, time)
    start, end = (wide(one).masked_fill(~mask, -math.inf) for one in (start, end))
    # Row i, column k: from i to i + k.
    band = start.unsqueeze(-1) + pad(end, (0, longest - 1), value=-math.inf).unfold(1, longest, 1)
    flat = band.flatten(1)
    found = flat.topk(min(count, flat.shape[1]))
    first = found.indices // longest
    return Spans(torch.stack([first, first + found.indices % longest], -1), found.values, flat.logsumexp(1))
