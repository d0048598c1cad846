"""The loop that greedy search and sampling share: each hypothesis goes its own way, one choice at a time."""

from collections.abc import Callable

import torch
from torch import Tensor

from regard.search import Hypothesis, Rules, Steps, Trace
from regard.search._common import NOTHING, gathered, truly_possible
from regard.search._trace import NOWHERE
from regard.types import Memory

__all__ = ["walk"]


def walk(
    decoder: Steps,
    memory: Memory,
    choose: Callable[[Tensor], Tensor],
    rules: Rules,
    *,
    count: int,
    weights: bool,
    trace: Trace | None = None,
) -> list[list[Hypothesis]]:
    """`count` hypotheses a sentence; `choose`: tokens `[batch, beam]` from log-probabilities `[batch, beam, vocab]`."""
    token = torch.full((len(rules.max_length), count), rules.start, device=rules.max_length.device)
    state, past = decoder.start(memory).reorder(torch.zeros_like(token)), rules.begin(count)
    total = torch.zeros(token.shape, device=token.device)
    lengths, done = torch.zeros_like(token), torch.zeros_like(token, dtype=torch.bool)
    tokens: list[Tensor] = []
    looks: list[Tensor] = []

    for t in range(rules.steps):
        state, look, logits = decoder.step(state, token)
        choices = rules.log_probs(logits, past, t)
        token = choose(choices)
        chosen = choices.gather(-1, token[..., None]).squeeze(-1)
        total = total + chosen.masked_fill(done, 0.0)
        lengths = lengths + ~done
        tokens.append(token)
        if weights:
            looks.append(look.by_key)
        ended = (token == rules.end) | (rules.max_length <= t + 1)[:, None]
        if trace is not None:
            own = torch.arange(count, device=token.device).expand_as(token)
            trace.add(total, token, own, ended & ~done, own.masked_fill(ended | done, NOWHERE))
        done = done | ended
        if bool(done.all()):  # the one wait for the device in a step
            break
        past = rules.after(past, token)

    total, order = total.sort(dim=1, descending=True, stable=True)
    truly_possible((total > NOTHING).all(dim=1))
    slots = order.expand(len(tokens), *order.shape)
    found = torch.stack(tokens).gather(2, slots)
    lengths, total = lengths.gather(1, order).cpu(), total.cpu()
    return gathered(found.cpu(), lengths, total, total, slots, looks)
