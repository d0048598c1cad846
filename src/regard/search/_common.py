"""What all searches share: the interface of a decoder, hypotheses, and how beams are reordered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import RegardError
from regard.types import Beams, Look, Memory

__all__ = ["NOTHING", "Hypothesis", "Steps", "gathered", "log_probs", "steps_of", "truly_possible"]

NOTHING = float("-inf")


@dataclass(frozen=True)
class Hypothesis:
    """One sequence that was found.

    `tokens` has the end token where it was chosen; a sequence cut at its greatest length has none.
    `log_prob` is the sum over its tokens; `rank_score` is what it was ranked by, which a search may normalise.
    `looked` (where asked for, on the CPU) says where each token's step looked: `[time, key]`, under heads
    `[head, time, key]`. `each` has the log-probability of every token where the sequence was given.
    """

    tokens: tuple[int, ...]
    rank_score: float
    log_prob: float
    looked: np.ndarray | Tensor | None = field(default=None, repr=False, compare=False)
    each: tuple[float, ...] = field(default=(), repr=False, compare=False)

    @property
    def log_prob_per_token(self) -> float:
        """The mean over its tokens; its exponent is no probability."""
        return self.log_prob / max(len(self.tokens), 1)

    @property
    def weights(self) -> Tensor | None:
        """Where its steps looked as a tensor, its own."""
        return torch.from_numpy(self.looked.copy()) if isinstance(self.looked, np.ndarray) else self.looked

    @property
    def array(self) -> np.ndarray | None:
        """The same in single precision as an array, which costs a tenth of a tensor to cut."""
        if isinstance(self.looked, Tensor):
            return self.looked.float().numpy()
        return None if self.looked is None else self.looked.astype(np.float32, copy=False)


@runtime_checkable
class Steps(Protocol):
    """Any decoder, as a search sees it. Its state is a `regard.types.Beams` of its own making."""

    def start(self, memory: Memory) -> Beams:
        """The state of ONE hypothesis a sentence: tensors `[batch, 1, …]`."""
        ...

    def step(self, state: Any, token: Int[Tensor, "batch beam"]) -> tuple[Any, Look, Float[Tensor, "batch beam vocab"]]:
        """The state after reading one more token a hypothesis, where it looked, and the logits of the next token."""
        ...


def steps_of(max_length: Int[Tensor, " batch"]) -> int:
    """How many steps the longest sentence may take: the one time before the first step that the host waits."""
    least, most = (int(n) for n in max_length.aminmax())
    if least < 1:
        raise RegardError(f"max_length {least}", expected="at least 1")
    return most


def log_probs(logits: Float[Tensor, "batch beam vocab"], banned: Int[Tensor, " some"]) -> Tensor:
    """Normalised in float32 or better. What is banned, or is not a number, cannot be chosen: −inf."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    result = torch.log_softmax(logits, dim=-1, dtype=wide).nan_to_num_(nan=NOTHING, neginf=NOTHING)
    return result.index_fill_(-1, banned, NOTHING) if len(banned) else result


def truly_possible(possible: Bool[Tensor, " batch"]) -> None:
    """Raise where a sentence has no hypothesis at all, rather than hand over an impossible one."""
    if not bool(possible.all()):
        raise RegardError(
            f"sentence {int(possible.int().argmin())} of the batch: no token can follow",
            expected="logits of which at least one is a number above −inf, not banned and within the limits",
            do="look at the banned tokens, the limits, and whether training diverged",
        )


def gathered(
    tokens: Int[Tensor, "time batch some"],
    lengths: Int[Tensor, "batch some"],
    scores: Float[Tensor, "batch some"],
    totals: Float[Tensor, "batch some"],
    slots: Int[Tensor, "time batch some"],
    looks: Sequence[Tensor],
) -> list[list[Hypothesis]]:
    """Hypotheses from tensors on the CPU; those of rank score −inf are left out.

    `slots[t]` says which of the beam's rows of `looks[t]` belongs to each hypothesis.
    """
    words, size, score, total = tokens.permute(1, 2, 0).tolist(), lengths.tolist(), scores.tolist(), totals.tolist()
    looked = _followed(lengths, slots, looks) if looks else [[None] * len(row) for row in size]
    return [
        [
            Hypothesis(tuple(words[b][i][:time]), score[b][i], total[b][i], looked[b][i])
            for i, time in enumerate(size[b])
            if score[b][i] > NOTHING
        ]
        for b in range(len(words))
    ]


def _followed(
    lengths: Int[Tensor, "batch some"], slots: Int[Tensor, "time batch some"], looks: Sequence[Tensor]
) -> list[list[np.ndarray]]:
    """The weights of each hypothesis, `[(head,) time, key]` on the CPU; bfloat16, which has no array, as float32."""
    beam = max(look.shape[-2] for look in looks)  # fewer may have begun than went on; nothing points beyond them
    wide = [look if look.shape[-2] == beam else pad(look, (0, 0, 0, beam - look.shape[-2])) for look in looks]
    every = torch.stack(wide)  # all steps in one go: [time, batch, (head,) beam, key]
    time, batch, *heads = every.shape[:-2]
    rows = torch.arange(time * batch * prod(heads)).reshape(time, batch, 1, -1) * beam
    index = (rows + slots.cpu()[..., None]).permute(1, 2, 3, 0)  # [batch, some, head, time]
    there = torch.arange(time) < lengths[..., None, None]  # nothing is moved that is not on a hypothesis's way
    index = index[there.expand_as(index)]
    flat = every.flatten(0, -2).index_select(0, index.to(every.device)).cpu()
    whole = (flat.float() if flat.dtype == torch.bfloat16 else flat).numpy()
    found: list[list[np.ndarray]] = []
    begin = 0
    for times in lengths.tolist():
        ends = [n * prod(heads) for n in accumulate(times, initial=0)]
        # A copy, so that keeping one hypothesis keeps those of its sentence alive at most, but not the whole batch.
        own = whole[begin : begin + ends[-1]].copy()
        parts = [own[first:last] for first, last in pairwise(ends)]
        if heads:
            parts = [part.reshape(*heads, n, whole.shape[-1]) for part, n in zip(parts, times, strict=True)]
        found.append(parts)
        begin += ends[-1]
    return found
