"""Source2token: a score for each feature, `e_i = W elu(W₁ h_i + b₁) + b`, and `v = Σ_i softmax_i(e_i) ⊙ h_i`.

Shen et al. 2018, "DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language Understanding", section 3.2:
multi-dimensional attention without a query; each feature attends to its own words. Dropout comes before each layer.
(The paper's b is kept, for its counts of parameters; the same for every token, it changes no weight.)

Where a gradient passes through a choice of tokens, each counts as much as its gate g says:
`v = Σ_i g_i softmax_i(e_i) ⊙ h_i / Σ_i g_i softmax_i(e_i)`, with gates of 0 and 1 the same as over the chosen ones.

    Source2token(inputs=600)(memory).vector              # [batch, 600]
"""

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import dropout, elu_, pad

from regard.pool import Pool, Pooled, there
from regard.ranges import Dropout
from regard.types import Look, Memory

__all__ = ["Source2token", "weights_of"]


def weights_of(
    scores: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"] | None
) -> Float[Tensor, "batch time dim"]:
    """The softmax over time of each feature, the scores of what is hidden being the least there are; zeros, with zero
    gradients, where there is nothing."""
    weights = torch.softmax(scores, 1)
    return weights if mask is None else weights.masked_fill(~mask.unsqueeze(-1), 0.0)


class _Weighed(torch.autograd.Function):
    """`v = Σ_i softmax_i(e_i) ⊙ h_i`; `∂v/∂e_i = a_i ⊙ (h_i − v)`. The weights, wider than the scores under autocast,
    are not kept but worked out again."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, h: Tensor) -> Tensor:
        wide = scores.dtype
        if torch.is_autocast_enabled(h.device.type):
            wide = torch.promote_types(wide, torch.float32)
        v = torch.softmax(scores, 1, dtype=wide).mul_(h).sum(1)
        ctx.save_for_backward(scores, h, v)
        return v

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        scores, h, v = ctx.saved_tensors
        a = torch.softmax(scores, 1, dtype=v.dtype).mul_(grad.unsqueeze(1))
        return (h - v.unsqueeze(1)).mul_(a).to(scores.dtype), a.to(h.dtype)


class Source2token(Pool):
    """`e = W elu(W₁ h + b₁) + b`, with a softmax over the tokens for each feature"""

    features: ClassVar[bool] = True

    def __init__(self, inputs: int, dropout: Annotated[Dropout, "dropout before each layer"] = 0.0) -> None:
        super().__init__()
        self.size = inputs
        self.W_1, self.W = nn.Linear(inputs, inputs), nn.Linear(inputs, inputs)
        self.dropout = dropout

    def forward(self, memory: Memory) -> Pooled:
        gated = memory.gated
        h, mask = there(memory if gated is None else replace(memory, values=gated.values, mask=gated.mask))
        # In place (and so on rows, which are no view of another tensor): what comes out is kept anyway.
        inner = elu_(self.W_1(dropout(h.flatten(0, 1), self.dropout, self.training)))
        scores = self.W(dropout(inner, self.dropout, self.training)).view(h.shape)
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(-1), torch.finfo(scores.dtype).min)
        # h is 0 where nothing is there, so that a sentence of nothing comes out as 0 too.
        if gated is None:
            vector = _Weighed.apply(scores, h)  # type: ignore[no-untyped-call]
            look = Look(vector.unsqueeze(1), lambda: weights_of(scores, mask).unsqueeze(1), features=True)
            return Pooled(vector, look)
        assert mask is not None
        gates = pad(gated.gates, (0, h.shape[1] - gated.gates.shape[1])).masked_fill(~mask, 0.0)
        open_ = gates.to(h.dtype).unsqueeze(-1).expand_as(h)
        share, sum_ = (_Weighed.apply(scores, one) for one in (open_, open_ * h))  # type: ignore[no-untyped-call]
        total = torch.where(share > 0, share, 1.0)  # where no gate is open the gradient of a gate stays finite
        vector = sum_ / total

        def weights() -> Tensor:
            return (weights_of(scores, mask) * open_ / total.unsqueeze(1)).unsqueeze(1)

        return Pooled(vector, Look(vector.unsqueeze(1), weights, features=True))
