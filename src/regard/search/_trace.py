"""The steps of a search, kept so that they can be shown.

A search that is given a `Trace` tells it at every step which hypotheses it has: those that ended there (by the end
token, or as long as they may be) and those that go on. Nothing is worked out before the search is over, and a search
without one keeps nothing.

    trace = Trace()
    [[best]] = Beam(beam_size=3)(decoder, memory, start=1, end=2, max_length=torch.tensor([50]), trace=trace)
    [steps] = trace.steps(text.pieces)

A sentence's steps are its own, whatever the batch: they stop where its answer is settled. A hypothesis under way is
ranked by its log_prob (an answer's rank may be normalised by its length), so along a path it can only fall. The answer
is among those that ended, and `parent` leads from there to the first step.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.regions import Token
from regard.search._common import NOTHING
from regard.types import Step

__all__ = ["NOWHERE", "Trace"]

NOWHERE = -1


class _Kept(NamedTuple):
    """One step of the whole batch."""

    total: Float[Tensor, "batch some"]
    token: Int[Tensor, "batch some"]
    parent: Int[Tensor, "batch some"]
    ended: Bool[Tensor, "batch some"]
    slot: Int[Tensor, "batch some"]


class Trace:
    """What one call of a search had under way, step by step."""

    def __init__(self) -> None:
        self._kept: list[_Kept] = []

    def add(
        self,
        total: Float[Tensor, "batch some"],
        token: Int[Tensor, "batch some"],
        parent: Int[Tensor, "batch some"],
        ended: Bool[Tensor, "batch some"],
        slot: Int[Tensor, "batch some"],
    ) -> None:
        """One step: log p and token of each candidate, and the slot that it continues.

        `slot` is the one it goes on in itself, NOWHERE if it does not; what neither goes on nor ended was dropped.
        """
        self._kept.append(_Kept(total, token, parent, ended, slot))

    def steps(self, pieces: Callable[[Sequence[int]], Sequence[Token]]) -> list[tuple[tuple[Step, ...], ...]]:
        """For each sentence its steps, each with its hypotheses, best first; `pieces` are tokens as people see them."""
        if not self._kept:
            return []
        batch = len(self._kept[0].total)
        found: list[list[tuple[Step, ...]]] = [[] for _ in range(batch)]
        # Who went on in which slot: their place in the list of the step before, and their tokens.
        before: list[dict[int, tuple[int, tuple[int, ...]]]] = [{} for _ in range(batch)]
        for t, kept in enumerate(self._kept):
            rows = zip(*(part.cpu().tolist() for part in kept), strict=True)
            for b, (total, token, parent, ended, slot) in enumerate(rows):
                there = [i for i in range(len(total)) if total[i] > NOTHING and (ended[i] or slot[i] != NOWHERE)]
                step, after = [], {}
                for place, i in enumerate(sorted(there, key=total.__getitem__, reverse=True)):
                    back, tokens = before[b][parent[i]] if t else (NOWHERE, ())
                    tokens = (*tokens, token[i])
                    seen = tuple(piece.text for piece in pieces(tokens))
                    step.append(Step(seen, total[i], back, ended[i]))
                    if slot[i] != NOWHERE:
                        after[slot[i]] = (place, tokens)
                before[b] = after
                if step:
                    found[b].append(tuple(step))
        return [tuple(steps) for steps in found]
