"""The loop that greedy search and sampling share: each hypothesis goes its own way, one choice at a time."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from regard.search import Hypothesis, Steps
from regard.search._common import NOTHING, gathered, log_probs, steps_of, truly_possible
from regard.types import Memory

__all__ = ["walk"]


def walk(
    decoder: Steps,
    memory: Memory,
    choose: Callable[[Tensor], Tensor],
    *,
    count: int,
    start: int,
    end: int,
    longest: Int[Tensor, " batch"],
    weights: bool,
    banned: Sequence[int],
) -> list[list[Hypothesis]]:
    """`count` hypotheses a sentence; `choose`: tokens `[batch, beam]` from log-probabilities `[batch, beam, vocab]`."""
    if not len(longest):
        return []
    device, steps = memory.keys.device, steps_of(longest)
    longest, ban = longest.to(device), torch.tensor(list(banned), dtype=torch.long, device=device)
    token = torch.full((len(longest), count), start, device=device)
    state = decoder.start(memory).follow(torch.zeros_like(token))
    total = torch.zeros(token.shape, device=device)
    lengths, done = torch.zeros_like(token), torch.zeros_like(token, dtype=torch.bool)
    tokens: list[Tensor] = []
    looks: list[Tensor] = []

    for t in range(1, steps + 1):
        state, look, logits = decoder.step(state, token)
        choices = log_probs(logits, ban)
        token = choose(choices)
        chosen = choices.gather(-1, token[..., None]).squeeze(-1)
        total = total + chosen.masked_fill(done, 0.0)
        lengths = lengths + ~done
        tokens.append(token)
        if weights:
            looks.append(look.by_key)
        done = done | (token == end) | (longest <= t)[:, None]
        if bool(done.all()):  # the one wait for the device in a step
            break

    total, order = total.sort(dim=1, descending=True, stable=True)
    truly_possible((total > NOTHING).all(dim=1))
    slots = order.expand(len(tokens), *order.shape)
    found = torch.stack(tokens).gather(2, slots)
    lengths, total = lengths.gather(1, order).cpu(), total.cpu()
    return gathered(found.cpu(), lengths, total, total, slots, looks)
