"""Sample: one key drawn from the softmax, `i ~ Multinoulli(softmax(e))`: hard attention.

Xu et al. 2015, "Show, Attend and Tell", section 4.1. The choice passes no gradient; its
log-probability and the entropy of the distribution are returned, for learning by reinforcement.
Outside training the most likely key is taken, unless `always` is set.

For some sentences the expected value may stand in for the sample, `Mixed`: their weights are the softmax itself.

    found = Sample()(scores, mask);  found.choice, found.log_prob, found.entropy
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attend.normalizer import Normalized, Normalizer, lowered, visible
from regard.attend.normalizer.softmax import softmax
from regard.attend.reinforce import mix

__all__ = ["Mixed", "Sample"]


class Sample(Normalizer):
    """`i ~ softmax(e)`, a = 1 at i"""

    passes = False  # the log-probability of the choice is what teaches it

    def __init__(
        self, always: Annotated[bool, "sample outside training too, instead of taking the likeliest key"] = False
    ) -> None:
        super().__init__()
        self.always = always

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        log_p = torch.log_softmax(lowered(scores, mask), dim=-1)
        p = log_p.exp()
        if self.training or self.always:
            choice = torch.multinomial(p.detach().reshape(-1, p.shape[-1]), 1).reshape(p.shape[:-1])
        else:
            choice = p.argmax(-1)
        log_prob = log_p.gather(-1, choice.unsqueeze(-1)).squeeze(-1)
        # A key of probability 0 adds nothing: its p·log p is set to 0 before it can become 0·(−∞).
        entropy = -(p * log_p.masked_fill(p == 0, 0.0)).sum(-1)
        seen = visible(mask, choice.shape)
        if seen is not None:
            log_prob, entropy = log_prob.masked_fill(~seen, 0.0), entropy.masked_fill(~seen, 0.0)
        return Normalized(choice=choice, visible=seen, keys=p.shape[-1], log_prob=log_prob, entropy=entropy)


class Mixed(Normalizer):
    """What another normalizer samples for the sentences that are `kept`; for the others its expected value."""

    def __init__(self, normalizer: Sample, kept: Bool[Tensor, " batch"]) -> None:
        super().__init__()
        self.normalizer, self.kept = normalizer, kept

    def forward(self, scores: Float[Tensor, "*lead key"], mask: Bool[Tensor, "*some key"] | None = None) -> Normalized:
        normalized: Normalized = self.normalizer(scores, mask)
        expected = softmax(scores, mask)
        soft, _ = mix(normalized.weights(expected.dtype), expected, chance=0.0, kept=self.kept)
        return Normalized(soft=soft, log_prob=normalized.log_prob, entropy=normalized.entropy)
