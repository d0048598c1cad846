"""Decoding algorithms: `greedy`, `beam` and `sample`. They only use a decoder's `start` and `step`.

Whatever the decoder is (recurrent, Transformer, a table in a test), a search asks it for a first state
and then, token by token, for the logits of the next. Where the decoder looked follows the surviving
hypothesis. What may not come (a banned token, or one outside the `Limits`) has its log-probability set to
−inf *after* the softmax: the others keep the probability the model gave them, nothing is shared out anew.

    [[best]] = Beam(beam_size=5)(decoder, memory, start=1, end=2, max_length=torch.tensor([50]))
    limits = Limits(min_length=3, no_repeat_ngram=2)
    [[short]] = Beam(limits=limits)(decoder, memory, start=1, end=2, max_length=torch.tensor([50]))

Every search is called alike, `Search.__call__`, and every limit works under each; in a configuration they are
`search.limits.min_length=3`. `Constraints` are limits in the user's own text. `forced` looks at a sequence that is
given instead of found; a `Trace` watches the steps.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import torch
from jaxtyping import Int
from torch import Tensor

from regard.find import Of, call
from regard.search._common import Hypothesis, Steps
from regard.search._constraints import Constraints, compiled
from regard.search._forced import forced
from regard.search._limits import Limits, Rules
from regard.search._trace import Trace
from regard.types import Memory

__all__ = [
    "Constraints",
    "Hypothesis",
    "Limits",
    "LimitsOption",
    "Rules",
    "Search",
    "Steps",
    "Trace",
    "compiled",
    "forced",
]

LimitsOption = Annotated[
    Mapping[str, Any] | Limits | None, Of("search.Limits"), "constraints on length, repeats, prefix and allowed answers"
]
"""`limits` as a search takes them: themselves, or (in a configuration) a table of their options."""


class Search:
    """A way to find sequences. One of your own defines `find`."""

    def __init__(self, limits: LimitsOption = None) -> None:
        self.limits = limits if isinstance(limits, Limits) else call(Limits, dict(limits or {}))

    @torch.no_grad()
    def __call__(
        self,
        decoder: Steps,
        memory: Memory,
        *,
        start: int,
        end: int,
        max_length: Int[Tensor, " batch"],
        weights: bool = False,
        banned: Sequence[int] = (),
        prefixes: Sequence[Sequence[int]] | None = None,
        allowed: Sequence[Sequence[int]] | None = None,
        trace: Trace | None = None,
    ) -> list[list[Hypothesis]]:
        """For each sentence of the memory its hypotheses, best first.

        `max_length` is the greatest number of tokens of each sentence's hypotheses, the end token included.
        `prefixes` (what each sentence's answers begin with) and `allowed` stand in for those of the limits.
        `trace` is told of every step.
        """
        if not len(max_length):
            return []
        device = memory.keys.device
        rules = Rules(
            self.limits,
            start=start,
            end=end,
            max_length=max_length,
            banned=banned,
            prefixes=prefixes,
            allowed=allowed,
            device=device,
        )
        told = () if trace is None else (trace,)  # a search of one's own need not know of it
        return self.find(decoder, memory, rules, weights, *told)

    @abstractmethod
    def find(
        self, decoder: Steps, memory: Memory, rules: Rules, weights: bool, trace: Trace | None = None
    ) -> list[list[Hypothesis]]:
        """The search itself: at least one sentence, `rules` to ask what may come, `trace` to tell of the steps."""
        raise NotImplementedError
