"""Forced decoding: the log-probability of a given sequence, and the attention at each of its tokens.

log p(tokens) = Σ_t log p(token_t | start, tokens before t), all steps in one `unroll`.

    [true] = forced(decoder, memory, [text.encode("ein Mann schläft")], start=Tokenizer.start)
    true.log_prob, true.each, true.weights
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.errors import RegardError
from regard.search._common import Hypothesis, log_probs
from regard.types import Look, Memory, Sequences

__all__ = ["Unrolls", "forced"]


@runtime_checkable
class Unrolls(Protocol):
    """Any decoder that reads known tokens."""

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        """All steps over known tokens (the start token first): the looks as one, and every step's logits."""
        ...


@torch.no_grad()
def forced(
    decoder: Unrolls,
    memory: Memory,
    targets: Sequence[Sequence[int]],
    *,
    start: int,
    weights: bool = True,
    length: float = 0.0,
) -> list[Hypothesis]:
    """One hypothesis a sentence, of exactly its target's tokens; the end counts where a target has it.

    rank_score = log p / |tokens|^length, as a beam's. A target that cannot come has −inf, an empty one 0.
    """
    if len(targets) != len(memory.keys):
        raise RegardError(f"{len(targets)} targets", expected=f"{len(memory.keys)}, one per sentence")
    if not targets:
        return []
    sizes = [len(target) for target in targets]
    tokens = Sequences.pad([[*target] or [start] for target in targets], fill=start).values.to(memory.keys.device)
    before = torch.cat([torch.full_like(tokens[:, :1], start), tokens[:, :-1]], dim=1)
    look, logits = decoder.unroll(memory, before)
    each = log_probs(logits, tokens.new_zeros(0)).gather(-1, tokens[..., None]).squeeze(-1)
    there = torch.arange(tokens.shape[1]) < torch.tensor(sizes)[:, None]
    totals = each.masked_fill(~there.to(each.device), 0.0).sum(dim=1).tolist()
    alone = each.tolist()
    looked = look.by_key.cpu() if weights else None
    return [
        Hypothesis(
            tokens=tuple(targets[b]),
            rank_score=totals[b] / max(sizes[b], 1) ** length,
            log_prob=totals[b],
            # A copy, so that keeping one hypothesis does not keep the whole batch alive.
            looked=None if looked is None else looked[b, ..., : sizes[b], :].clone(),
            each=tuple(alone[b][: sizes[b]]),
        )
        for b in range(len(targets))
    ]
