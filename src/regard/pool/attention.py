"""Attention: a learned query looks at the states, `a = softmax(wᵀ tanh(W h))`, `v = Σ_i a_i h_i`.

Yang et al. 2016, "Hierarchical Attention Networks for Document Classification", section 2.2 (with a bias there).
Any weighing will do; one that samples gives its log-probability in the look.

    Attention(inputs=600, weigh="sparsemax")(memory).look.weights        # [batch, 1, time]
"""

from typing import Annotated

from torch import Tensor

from regard.attend.attention import Attention as Attend
from regard.attend.score.learned_query import LearnedQuery
from regard.attend.weigh.sample import Sample
from regard.attend.weigh.softmax import Softmax
from regard.find import In, Spec, build
from regard.pool import Pool, Pooled, there
from regard.ranges import Width
from regard.types import Look, Memory

__all__ = ["Attention"]


class Attention(Pool):
    """One learned query over the states: `v = Σ softmax(wᵀ tanh(W h)) h`"""

    def __init__(
        self, inputs: int, hidden: Width = 300, weigh: Annotated[Spec, In("attend.weigh")] = "softmax"
    ) -> None:
        super().__init__()
        self.size = inputs
        self.attention = Attend(LearnedQuery(inputs, hidden), build("attend.weigh", weigh))
        self.chooses = isinstance(self.attention.weigh, Sample)

    def forward(self, memory: Memory) -> Pooled:
        h, mask = there(memory)
        prepared = self.attention.prepare(h, mask=mask)
        look = self.attention(None, prepared)

        def expected() -> Tensor:
            soft: Look = Attend(self.attention.score, Softmax())(None, prepared)
            return soft.answer.squeeze(1)

        return Pooled(look.answer.squeeze(1), look, expected=expected if self.chooses else None)
