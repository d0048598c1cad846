"""Sample: one key drawn from the softmax, `i ~ Multinoulli(softmax(e))`: hard attention.

Xu et al. 2015, "Show, Attend and Tell", section 4.1. The choice passes no gradient; its
log-probability and the entropy of the distribution are returned, for learning by reinforcement.
Outside training the most likely key is taken, unless `always` is set.

For some sentences of a batch the expected value may stand in for the sample, `keeping`: their weights are the softmax
itself.

    found = Sample()(scores, mask);  found.choice, found.log_prob, found.entropy
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer, lowered, visible
from regard.attend.normalizer.softmax import softmax
from regard.attend.reinforce import mix
from regard.types import wide

__all__ = ["Sample", "keeping"]

_kept: ContextVar[Tensor | None] = ContextVar("kept", default=None)


@contextmanager
def keeping(kept: Bool[Tensor, " batch"]) -> Iterator[None]:
    """In this block and thread only the sentences that are `kept` sample; the others take what is expected."""
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)


class Sample(Normalizer):
    """`i ~ softmax(e)`, a = 1 at i"""

    passes = False  # the log-probability of the choice is what teaches it

    def __init__(
        self, always: Annotated[bool, "sample at inference too, instead of taking the most likely key"] = False
    ) -> None:
        super().__init__()
        self.always = always

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        log_p = torch.log_softmax(lowered(scores, mask), dim=-1)
        p = log_p.exp()
        if self.training or self.always:
            # The first to ring of clocks with rates p: `torch.multinomial` does the same, but lets a GPU check p first.
            choice = (p.detach() / torch.empty_like(wide(p)).exponential_()).argmax(-1)
        else:
            choice = p.argmax(-1)
        log_prob = log_p.gather(-1, choice.unsqueeze(-1)).squeeze(-1)
        # A key of probability 0 adds nothing: its p·log p is set to 0 before it can become 0·(−∞).
        entropy = -(p * log_p.masked_fill(p == 0, 0.0)).sum(-1)
        seen = visible(mask, choice.shape)
        if seen is not None:
            log_prob, entropy = log_prob.masked_fill(~seen, 0.0), entropy.masked_fill(~seen, 0.0)
        found = Normalized(choice=choice, visible=seen, keys=p.shape[-1], log_prob=log_prob, entropy=entropy)
        if (kept := _kept.get()) is None:
            return found
        expected = softmax(scores, mask)
        soft, _ = mix(found.weights(expected.dtype), expected, chance=0.0, kept=kept)
        return Normalized(soft=soft, log_prob=log_prob, entropy=entropy)
