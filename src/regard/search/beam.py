"""Beam search: the `beam_size` most likely prefixes are continued side by side; the best finished sequences are kept.

rank_score = log p(tokens) / |tokens|^length_penalty, the end token counted; a length penalty of 0 does not normalise, 1
takes the mean. At each step every beginning is continued by every token and the 2·beam_size likeliest
continuations are looked at: an end among the first `beam_size` finishes a hypothesis, the best `beam_size`
others go on (one end a beginning at most, so there are always as many). At a sentence's greatest
length all of them are finished as they are.

A sentence is done when no live beginning can still enter its n-best list. Its log-probability can only fall and its
length only grow to the greatest, so no future rank_score passes the best live log p divided by
max_length^length_penalty. From then on its list is frozen, whatever the rest of the batch does: stopping early never
changes the result, and neither does the batch.

In `groups` (Vijayakumar et al. 2018, "Diverse Beam Search", algorithm 1 with its Hamming diversity) the
width is shared out, and each group in turn searches by log p(tokens) − diversity · n, n being how many
continuations the groups before it chose at this step with the same token. Only the choosing sees n: rank_score
and log p stay the model's. The n-best list takes every group's best before any group's second, and no
sequence twice.

    [n_best, …] = Beam(beam_size=5, length_penalty=1.0, n_best=3)(decoder, memory, start=1, end=2, max_length=lengths)
    [three, …] = Beam(beam_size=6, groups=3, n_best=3)(decoder, memory, start=1, end=2, max_length=lengths)

Written for a GPU: nothing is walked sentence by sentence, the host waits once a step, and tokens and
weights are read off back-pointers once at the end, those of the n-best alone.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import RegardError
from regard.find import Spec
from regard.ranges import Hypotheses, NonNegative, Range, ranged
from regard.search import Hypothesis, LimitsOption, Rules, Search, Steps, Trace
from regard.search._common import NOTHING, truly_possible
from regard.search._trace import NOWHERE
from regard.search._trail import Mark, in_beam, walk_back
from regard.types import Memory

__all__ = ["Beam", "fitted"]


def fitted(spec: Spec, asked: Mapping[str, Any]) -> Spec:
    """A beam wide enough for the n-best list and the groups that were asked for, where its size was not."""
    fits = {"groups", "n_best"}.isdisjoint(asked) or "beam_size" in asked
    if fits or isinstance(spec, str) or spec.get("name", "beam") != "beam":
        return spec
    size, n_best, groups = (spec.get(name, usual) for name, usual in (("beam_size", 5), ("n_best", 1), ("groups", 1)))
    if not all(type(number) is int and number > 0 for number in (size, n_best, groups)):
        return spec  # what is wrong with them is said when the search is built
    return {**spec, "beam_size": -(-max(size, n_best) // groups) * groups}


class Beam(Search):
    """Beam search: returns up to `n_best` hypotheses per sentence, best first."""

    @ranged
    def __init__(
        self,
        beam_size: Annotated[Hypotheses, "hypotheses kept at each step"] = 5,
        # Below 0 the bound would not hold (a longer sequence would score ever lower); far above, powers overflow.
        length_penalty: Annotated[
            float,
            Range(0, 4),
            "hypotheses are ranked by log-probability / length^length_penalty; 0 ranks by the sum, 1 by the mean",
        ] = 1.0,
        n_best: Annotated[Hypotheses, "largest number of hypotheses to return per sentence"] = 1,
        groups: Annotated[
            Hypotheses, "number of groups the beam is split into (diverse beam search); must divide beam_size"
        ] = 1,
        diversity: Annotated[
            NonNegative, "penalty on a token's log-probability for each earlier group that chose it at this step"
        ] = 0.5,
        limits: LimitsOption = None,
    ) -> None:
        super().__init__(limits)
        if beam_size % groups:
            raise RegardError(
                f"groups={groups} with beam_size={beam_size}", expected="a number of groups that divides beam_size"
            )
        self.beam_size, self.length_penalty, self.n_best = beam_size, length_penalty, n_best
        self.groups, self.diversity = groups, diversity

    def find(
        self, decoder: Steps, memory: Memory, rules: Rules, weights: bool, trace: Trace | None = None
    ) -> list[list[Hypothesis]]:
        batch, groups, width, device = (
            len(rules.max_length),
            self.groups,
            self.beam_size // self.groups,
            memory.keys.device,
        )
        wide = 2 * width
        token = torch.full((batch, groups), rules.start, device=device)
        state, past = decoder.start(memory).reorder(torch.zeros_like(token)), rules.begin(groups)
        live = torch.zeros(batch, groups, 1, device=device)
        # A row is one group of one sentence: from here on rows know nothing of each other.
        longest = rules.max_length.repeat_interleave(groups)
        best = torch.full((batch * groups, self.n_best), NOTHING, device=device)  # scores of the n-best list …
        place = torch.zeros_like(best, dtype=torch.long)  # … and where in the trail each ends: step · wide + rank
        done = torch.zeros_like(longest, dtype=torch.bool)
        rank = torch.arange(wide, device=device)
        late = rank >= width  # where an end comes too late
        soonest = int(longest.min())  # before it no sentence is cut, and there is less to work out
        trail: list[Mark] = []
        looks: list[Tensor] = []

        for t in range(rules.steps):
            state, look, logits = decoder.step(state, token)
            log_probs = rules.log_probs(logits, past, t).reshape(batch, groups, -1, logits.shape[-1])
            total, tokens, parents = self._likeliest(live[..., None] + log_probs, width)
            if t == 0:
                power = torch.arange(1, rules.steps + 1, dtype=total.dtype, device=device) ** self.length_penalty
                farthest, powers = power[longest - 1], power.unbind()

            ends, cut = tokens == rules.end, longest == t + 1 if t + 1 >= soonest else None
            unfinished = ~ends | late
            if cut is not None:
                unfinished = unfinished & ~cut[:, None]
            unfinished = unfinished | done[:, None]
            best, place = self._keep(best, place, total.masked_fill(unfinished, NOTHING) / powers[t], rank + t * wide)

            # Stable, so the others keep their order.
            order = ends.byte().argsort(dim=1, stable=True)[:, :width]
            going = total.masked_fill(ends, NOTHING).gather(1, order)
            trail.append(Mark(total, tokens, parents, order))
            if weights:
                looks.append(look.by_key)
            if trace is not None:
                slots = torch.full_like(tokens, NOWHERE).scatter(1, order, rank[:width].expand_as(order))
                over = done if cut is None else done | cut
                slots = in_beam(slots, groups, width).masked_fill((slots < 0) | ends | over[:, None], NOWHERE)
                places = in_beam(parents, groups, log_probs.shape[2])
                trace.add(*(part.reshape(batch, -1) for part in (total, tokens, places, ~unfinished, slots)))
            # The likeliest comes first, unless groups chose by something else.
            likeliest = going[:, 0] if groups == 1 or not self.diversity else going.amax(dim=1)
            done = done | (best[:, -1] >= likeliest / farthest)
            done = done if cut is None else done | cut
            if bool(done.all()):  # the one wait for the device in a step
                break
            live, token = going.reshape(batch, groups, width), tokens.gather(1, order).reshape(batch, -1)
            follow = in_beam(parents.gather(1, order), groups, log_probs.shape[2]).reshape(batch, -1)
            state = state.reorder(follow)
            if not past.empty:
                past = rules.after(past.reorder(follow), token)

        truly_possible((best[:, 0] > NOTHING).reshape(batch, groups).any(dim=1))
        return walk_back(best.cpu(), place.cpu(), trail, looks, groups)

    def _likeliest(self, log_p: Float[Tensor, "batch group beam vocab"], width: int) -> tuple[Tensor, Tensor, Tensor]:
        """The 2·beam_size likeliest continuations of each row, `[row, 2·beam_size]`: log p, token, parent."""
        vocab, wide = log_p.shape[-1], 2 * width
        most = min(wide, log_p.shape[2] * vocab)
        if self.groups == 1 or not self.diversity:
            total, index = log_p.flatten(2).topk(most, dim=2)
        else:
            chosen, n = [], torch.zeros_like(log_p[:, 0, :1])
            for group in log_p.unbind(1):
                index = (group - self.diversity * n).flatten(1).topk(most, dim=1).indices
                chosen.append((group.flatten(1).gather(1, index), index))
                total, token = chosen[-1][0][:, None, :width], index[:, None, :width] % vocab
                n = n.scatter_add(2, token, (total > NOTHING).to(n.dtype))
            total, index = (torch.stack(parts, dim=1) for parts in zip(*chosen, strict=True))
        total, index = total.flatten(0, 1), index.flatten(0, 1)
        if most < wide:  # a small vocabulary has fewer continuations than we look at
            total, index = pad(total, (0, wide - most), value=NOTHING), pad(index, (0, wide - most))
        return total, index % vocab, index // vocab

    def _keep(self, best: Tensor, place: Tensor, score: Tensor, here: Tensor) -> tuple[Tensor, Tensor]:
        """The n-best list after these candidates; among equals the earlier stays."""
        scores, order = torch.cat([best, score], dim=1).sort(dim=1, descending=True, stable=True)
        places = torch.cat([place, here.expand_as(score)], dim=1).gather(1, order)
        return scores[:, : self.n_best], places[:, : self.n_best]
