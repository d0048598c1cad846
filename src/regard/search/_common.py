"""What all searches share: a decoder as they see it, what they find, and how it is handed over."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol, runtime_checkable

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
    `log_prob` is the sum over its tokens; `score` is what it was ranked by, which a search may normalise.
    `weights` (where asked for, on the CPU) say where each token's step looked: `[time, key]`, under heads
    `[head, time, key]`. `each` has the log-probability of every token where the sequence was given.
    """

    tokens: tuple[int, ...]
    score: float
    log_prob: float
    weights: Tensor | None = field(default=None, repr=False, compare=False)
    each: tuple[float, ...] = field(default=(), repr=False, compare=False)


@runtime_checkable
class Steps(Protocol):
    """Any decoder, as a search sees it. Its state is a `regard.types.Beams` of its own making."""

    def start(self, memory: Memory) -> Beams:
        """The state of ONE hypothesis a sentence: tensors `[batch, 1, …]`."""
        ...

    def step(self, state: Any, token: Int[Tensor, "batch beam"]) -> tuple[Any, Look, Float[Tensor, "batch beam vocab"]]:
        """The state after reading one more token a hypothesis, where it looked, and the logits of the next token."""
        ...


def steps_of(longest: Int[Tensor, " batch"]) -> int:
    """How many steps the longest sentence may take: the one time before the first step that the host waits."""
    least, most = (int(n) for n in longest.aminmax())
    if least < 1:
        raise RegardError(f"a greatest length of {least}", expected="room for one token or more")
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
    """Hypotheses from tensors on the CPU; those of score −inf are left out.

    `slots[t]` says which of the beam's rows of `looks[t]` belongs to each hypothesis.
    """
    weights = None
    if looks:
        beam = max(look.shape[-2] for look in looks)  # fewer may have begun than went on; nothing points beyond them
        wide = [look if look.shape[-2] == beam else pad(look, (0, 0, 0, beam - look.shape[-2])) for look in looks]
        every = torch.stack(wide)  # all steps in one go: [time, batch, (head,) beam, key]
        time, batch, *heads = every.shape[:-2]
        rows = torch.arange(time * batch * prod(heads), device=slots.device).reshape(time, batch, 1, -1) * beam
        index = (rows + slots[..., None]).permute(1, 2, 3, 0).flatten()  # [batch, some, (head,) time]
        some = every.flatten(0, -2).index_select(0, index.to(every.device))
        weights = some.reshape(batch, slots.shape[-1], *heads, time, every.shape[-1]).cpu()

    words, size, score, total = tokens.permute(1, 2, 0).tolist(), lengths.tolist(), scores.tolist(), totals.tolist()
    # As an array where it can be one: a slice and its copy then cost less than half.
    plain = None if weights is None or weights.dtype == torch.bfloat16 else weights.numpy()

    def own(b: int, i: int, time: int) -> Tensor | None:
        """A copy, so that keeping one hypothesis does not keep the whole batch alive."""
        if plain is None:
            return None if weights is None else weights[b, i, ..., :time, :].clone()
        return torch.from_numpy(plain[b, i, ..., :time, :].copy())

    return [
        [
            Hypothesis(tuple(words[b][i][:time]), score[b][i], total[b][i], own(b, i, time))
            for i, time in enumerate(size[b])
            if score[b][i] > NOTHING
        ]
        for b in range(len(words))
    ]
