"""Beam search: the `width` likeliest beginnings go on side by side; the best finished sequences are kept.

score = log p(tokens) / |tokens|^length, the end token counted; length = 0 does not normalise, 1 takes
the mean. At each step every beginning is continued by every token and the 2·width likeliest
continuations are looked at: an end among the first `width` finishes a hypothesis, the best `width`
others go on (one end a beginning at most, so there are always as many). At a sentence's greatest
length all of them are finished as they are.

A sentence is done when no live beginning can still enter its n-best list. Its log-probability can only
fall and its length only grow to the greatest, so no future score passes best live log p / longest^length.
From then on its list is frozen, whatever the rest of the batch does: stopping early never changes the
result, and neither does the batch.

    [nbest, …] = Beam(width=5, length=1.0, nbest=3)(decoder, memory, start=1, end=2, longest=lengths)

Written for a GPU: nothing is walked sentence by sentence, the host waits once a step, and tokens and
weights are read off back-pointers once at the end.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import RegardError
from regard.search import Hypothesis, Steps
from regard.search._common import NOTHING, gathered, log_probs, steps_of, truly_possible
from regard.types import Memory

__all__ = ["Beam"]


class Beam:
    """At most `nbest` hypotheses a sentence (fewer where fewer were found), best score first."""

    def __init__(self, width: int = 5, length: float = 1.0, nbest: int = 1) -> None:
        if width < 1:
            raise RegardError(f"width={width}", expected="1 hypothesis or more")
        # Below 0 the bound would not hold (a longer sequence would score ever lower); far above, powers overflow.
        if not 0 <= length <= 4:
            raise RegardError(f"length={length}", expected="a power from 0 (no normalisation) to 4", do="1 is the mean")
        if nbest < 1:
            raise RegardError(f"nbest={nbest}", expected="1 hypothesis or more")
        self.width, self.length, self.nbest = width, length, nbest

    @torch.no_grad()
    def __call__(
        self,
        decoder: Steps,
        memory: Memory,
        *,
        start: int,
        end: int,
        longest: Int[Tensor, " batch"],
        weights: bool = False,
        banned: Sequence[int] = (),
    ) -> list[list[Hypothesis]]:
        batch, width, wide = len(longest), self.width, 2 * self.width
        if not batch:
            return []
        device, steps = memory.keys.device, steps_of(longest)
        longest, ban = longest.to(device), torch.tensor(list(banned), dtype=torch.long, device=device)
        state, token = decoder.start(memory), torch.full((batch, 1), start, device=device)
        live = torch.zeros(batch, 1, device=device)
        best = torch.full((batch, self.nbest), NOTHING, device=device)  # scores of the n-best list …
        place = torch.zeros_like(best, dtype=torch.long)  # … and where in the trail each ends: step · wide + rank
        done = torch.zeros(batch, dtype=torch.bool, device=device)
        rank = torch.arange(wide, device=device)
        trail: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []  # log p, token, parent; which of them went on
        looks: list[Tensor] = []

        for t in range(steps):
            state, look, logits = decoder.step(state, token)
            vocab = logits.shape[-1]
            continued = (live[..., None] + log_probs(logits, ban)).flatten(1)
            total, index = continued.topk(min(wide, continued.shape[1]), dim=1)
            missing = wide - total.shape[1]  # a small vocabulary has fewer continuations than we look at
            total, index = pad(total, (0, missing), value=NOTHING), pad(index, (0, missing))
            tokens, parents = index % vocab, index // vocab
            if t == 0:
                power = torch.arange(1, steps + 1, dtype=total.dtype, device=device) ** self.length
                farthest = power[longest - 1]

            ends, last = tokens == end, longest == t + 1
            finished = ((ends & (rank < width)) | last[:, None]) & ~done[:, None]
            best, place = self._keep(best, place, total.masked_fill(~finished, NOTHING) / power[t], t * wide + rank)

            # Stable, so the others keep their order: live[:, 0] is the best of them.
            order = ends.byte().argsort(dim=1, stable=True)[:, :width]
            live = total.masked_fill(ends, NOTHING).gather(1, order)
            trail.append((total, tokens, parents, order))
            if weights:
                looks.append(look.by_key)
            done = done | last | (best[:, -1] >= live[:, 0] / farthest)
            if bool(done.all()):  # the one wait for the device in a step
                break
            token, state = tokens.gather(1, order), state.follow(parents.gather(1, order))

        truly_possible(best[:, 0] > NOTHING)
        return self._walk_back(best.cpu(), place.cpu(), trail, looks)

    def _keep(self, best: Tensor, place: Tensor, score: Tensor, here: Tensor) -> tuple[Tensor, Tensor]:
        """The n-best list after these candidates; among equals the earlier stays."""
        scores, order = torch.cat([best, score], dim=1).sort(dim=1, descending=True, stable=True)
        places = torch.cat([place, here.expand_as(score)], dim=1).gather(1, order)
        return scores[:, : self.nbest], places[:, : self.nbest]

    def _walk_back(
        self, best: Tensor, place: Tensor, trail: list[tuple[Tensor, Tensor, Tensor, Tensor]], looks: list[Tensor]
    ) -> list[list[Hypothesis]]:
        """From the place where each hypothesis ended, back-pointer by back-pointer, to its beginning."""
        totals, tokens, parents, orders = (torch.stack(parts).cpu() for parts in zip(*trail, strict=True))
        final, rank_there = place // (2 * self.width), place % (2 * self.width)
        found, slots = torch.zeros(2, len(trail), *place.shape, dtype=torch.long)
        log_prob = torch.zeros_like(best)
        slot = torch.zeros_like(place)  # meaningless until the final step of a hypothesis is reached
        for t in reversed(range(len(trail))):
            rank = torch.where(final == t, rank_there, orders[t].gather(1, slot))
            found[t], slots[t] = tokens[t].gather(1, rank), parents[t].gather(1, rank)
            log_prob = torch.where(final == t, totals[t].gather(1, rank), log_prob)
            slot = slots[t]
        return gathered(found, final + 1, best, log_prob, slots, looks)
