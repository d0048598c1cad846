"""Window: only keys near a centre p_j are attended to, `|i − p_j| ≤ D`.

    monotone      p_j = j, at most the last key                              every key of the window is equal
    predictive    p_j = I · σ(vᵀ tanh(W h_j)),  e_ji − (i − p_j)² / 2σ²      σ = D/2: nearer keys count more

Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.2
(local-m and local-p). h_j is the query, I the length of the source, i and j count from 0. The paper multiplies the
weights by the Gaussian after the softmax and lets them sum to less than 1; here its logarithm is added to the
scores, so that the same product is normalised again. Past the end of the source a monotone window stays at its
last key, where the paper's would be empty.

    Attention(Bilinear(query=512, key=1024), bias=[Window(query=512, hidden=256, D=10)])
"""

from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.bias import Counting, Terms, beside_heads, lengths
from regard.errors import RegardError
from regard.ranges import Length, ranged
from regard.types import Memory, wide

__all__ = ["Window"]


class Window(Counting):
    """Local attention: only keys within `D` of a centre, predicted from the query or moving one key per step"""

    @ranged
    def __init__(
        self,
        query: int,
        hidden: int,
        kind: Annotated[
            Literal["predictive", "monotone"],
            "predict the centre from the query, or move it one key per step (monotone)",
        ] = "predictive",
        D: Annotated[Length, "keys on each side of the centre that can be attended to"] = 10,
    ) -> None:
        super().__init__()
        self.D = D
        # A predicted centre depends on the query alone, so no step counter is needed.
        self.stateful, self.reads = kind == "monotone", kind == "predictive"
        if kind == "predictive":
            self.W = nn.Linear(query, hidden, bias=False)
            self.v = nn.Parameter(torch.empty(hidden).uniform_(-(hidden**-0.5), hidden**-0.5))

    def terms(
        self, memory: Memory, queries: int, state: Any, query: Float[Tensor, "batch query dim"] | None = None
    ) -> Terms:
        i = torch.arange(memory.keys.shape[-2], device=memory.keys.device)
        length = lengths(memory).unsqueeze(-1)
        if not self.reads:
            p = torch.minimum(self.steps(state, queries), (length - 1).clamp(min=0))
            near = (i - p.unsqueeze(-1)).abs() <= self.D
            return Terms(mask=beside_heads(near, memory))
        if query is None:
            raise RegardError("a predictive window needs a query", do='use kind="monotone"')
        share = torch.sigmoid(torch.tanh(self.W(query)) @ self.v)
        p = length * wide(share)  # short numbers cannot count far
        apart = i - p.unsqueeze(-1)
        gaussian = -(apart**2) / (2 * (self.D / 2) ** 2)
        near = apart.detach().abs() <= self.D
        return Terms(scores=beside_heads(gaussian.to(memory.keys.dtype), memory), mask=beside_heads(near, memory))
