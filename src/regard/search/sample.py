"""Ancestral sampling: each token is drawn from the model's distribution, which may be sharpened or truncated first.

p'(v) ∝ p(v)^(1/temperature), kept to the `top_k` likeliest tokens (0: all) and then to the smallest set of likeliest
tokens that together hold at least `top_p` of p' (nucleus sampling, Holtzman et al. 2020, "The Curious Case of Neural
Text Degeneration", section 3.1). Drawn by the Gumbel trick, argmax(log p' + g), which never makes the host wait for a
GPU.

    samples = Sample(temperature=0.8, top_p=0.95, count=4, seed=1)(decoder, memory, start=1, end=2, max_length=lengths)

rank_score and log_prob are both Σ log p(token) under the model's own distribution, before any sharpening or
cutting. With a seed the same calls in the same order give the same samples; each call draws others.
"""

from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.ranges import Count, Range, Seed, Temperature, ranged
from regard.search import Hypothesis, LimitsOption, Rules, Search, Steps, Trace
from regard.search._common import NOTHING
from regard.search._walk import walk
from regard.types import Memory

__all__ = ["Sample"]


class Sample(Search):
    """Ancestral sampling: `count` independent samples per sentence, most likely first."""

    @ranged
    def __init__(
        self,
        temperature: Annotated[
            Temperature, "divides the logits: below 1 is closer to greedy, above 1 more random"
        ] = 1.0,
        top_k: Annotated[Count, "sample from the k most likely tokens; 0 samples from all"] = 0,
        top_p: Annotated[
            float,
            Range(0, 1, above=True),
            "sample from the smallest set of tokens with this total probability (nucleus sampling); 1 samples from all",
        ] = 1.0,
        count: Annotated[int, Range(1, 100_000), "samples per sentence"] = 1,
        seed: Annotated[Seed | None, "random seed; none uses PyTorch's generator"] = None,
        limits: LimitsOption = None,
    ) -> None:
        super().__init__(limits)
        self.temperature, self.top_k, self.top_p, self.count, self.seed = temperature, top_k, top_p, count, seed
        self.generator: torch.Generator | None = None  # made at the first call, where the memory is

    def draw(
        self, log_probs: Float[Tensor, "batch beam vocab"], generator: torch.Generator | None = None
    ) -> Int[Tensor, "batch beam"]:
        """One token a hypothesis."""
        logits, index = log_probs / self.temperature, None
        vocab = logits.shape[-1]
        if 0 < self.top_k < vocab or self.top_p < 1:
            logits, index = logits.topk(min(self.top_k or vocab, vocab), dim=-1)  # sorted, the likeliest first
            if self.top_p < 1:
                p = logits.softmax(dim=-1)
                logits = logits.masked_fill(p.cumsum(dim=-1) - p >= self.top_p, NOTHING)
        # −log of an exponential variable is a Gumbel one; an exact 0 would make an inf that beats a −inf to a nan.
        noise = torch.empty_like(logits).exponential_(generator=generator)
        choice = (logits - noise.clamp_min_(torch.finfo(noise.dtype).tiny).log_()).argmax(dim=-1)
        return choice if index is None else index.gather(-1, choice[..., None]).squeeze(-1)

    def find(
        self, decoder: Steps, memory: Memory, rules: Rules, weights: bool, trace: Trace | None = None
    ) -> list[list[Hypothesis]]:
        if self.seed is not None and self.generator is None:
            self.generator = torch.Generator(memory.keys.device).manual_seed(self.seed)

        def choose(log_probs: Tensor) -> Tensor:
            return self.draw(log_probs, self.generator)

        return walk(decoder, memory, choose, rules, count=self.count, weights=weights, trace=trace)
