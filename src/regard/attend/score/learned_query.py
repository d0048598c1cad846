"""Learned query (source2token): the query is a parameter, `e_i = wᵀ tanh(W k_i)`; `hops` queries give as many contexts.

Lin et al. 2017, "A Structured Self-attentive Sentence Embedding", section 2.1 (no biases there).
`tanh(W k)` is computed once; each row of w then is a query of a plain dot product.

    Attention(LearnedQuery(key=600, hops=4))(None, memory).context       # [batch, 4, value]
"""

from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.score import Score
from regard.errors import RegardError
from regard.ranges import Few, Width

__all__ = ["LearnedQuery"]


class LearnedQuery(Score):
    """`e = wᵀ tanh(W k)`"""

    kernel = "dot"

    def __init__(
        self,
        key: int,
        hidden: Annotated[Width, "units of the layer that scores a key"] = 256,
        hops: Annotated[Few, "number of learned queries; each gives its own context vector"] = 1,
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.W = nn.Linear(key, hidden, bias=False)
        self.w = nn.Parameter(torch.empty(1, hops, hidden).uniform_(-(hidden**-0.5), hidden**-0.5))

    def project(self, query: Float[Tensor, "*lead query dim"] | None) -> Float[Tensor, "1 rows hidden"]:
        if query is not None:
            raise RegardError("learned_query got a query", expected="None", do="pass None, or use another score")
        return self.w

    def prepare(self, keys: Float[Tensor, "*lead key dim"]) -> Float[Tensor, "*lead key hidden"]:
        return torch.tanh(self.W(keys))
