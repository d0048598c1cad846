"""Attention: a learned query looks at the states, `a = softmax(wᵀ tanh(W h))`, `v = Σ_i a_i h_i`.

Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", section 2.2 (with a bias there).
Any normalizer will do; one that samples gives its log-probability in the look.

    Attention(inputs=600, normalizer="sparsemax")(memory).look.weights        # [batch, 1, time]
"""

from typing import Annotated

from torch import Tensor

from regard.attend.attention import Attention as Attend
from regard.attend.normalizer.sample import Sample
from regard.attend.normalizer.softmax import Softmax
from regard.attend.score.learned_query import LearnedQuery
from regard.find import In, Spec, build
from regard.pool import Pool, Pooled, there
from regard.ranges import Width
from regard.types import Look, Memory

__all__ = ["Attention"]


class Attention(Pool):
    """Attention with one learned query: `v = Σ softmax(wᵀ tanh(W h)) h`"""

    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "units of the layer that scores a state"] = 300,
        normalizer: Annotated[Spec, In("attend.normalizer"), "how scores become weights"] = "softmax",
    ) -> None:
        super().__init__()
        self.size = inputs
        self.attention = Attend(LearnedQuery(inputs, hidden), build("attend.normalizer", normalizer))
        self.chooses = isinstance(self.attention.normalizer, Sample)

    def forward(self, memory: Memory) -> Pooled:
        h, mask = there(memory)
        prepared = self.attention.prepare(h, mask=mask)
        look = self.attention(None, prepared)

        def expected() -> Tensor:
            soft: Look = Attend(self.attention.score, Softmax())(None, prepared)
            return soft.context.squeeze(1)

        return Pooled(look.context.squeeze(1), look, expected=expected if self.chooses else None)
