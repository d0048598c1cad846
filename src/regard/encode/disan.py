"""DiSAN: feature-wise self-attention twice, over what came before a token and over what comes after it.

For each direction `h = elu(W x + b)`, `s_j = Σ_i a_ij ⊙ h_i` over the earlier (later) tokens i with an energy for each
feature, and a gate between a token and what it saw: `F = σ(W_f1 s + W_f2 h + b)`, `u = F ⊙ h + (1 − F) ⊙ s`. The
states are `[u_fw; u_bw]`, pooled by source2token. Shen et al. 2018, "DiSAN: Directional Self-Attention Network for
RNN/CNN-Free Language Understanding", sections 3.1 and 3.2.

Both directions are computed side by side, as one attention: the one backwards counts its places backwards.

    Disan(inputs=300)(sequences).values                  # [batch, time, 600]
"""

from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, elu

from regard.encode import Encoder
from regard.errors import RegardError
from regard.find import Spec
from regard.kernels.choose import choose
from regard.kernels.feature import feature_attention, feature_weights
from regard.pool.mean import mean
from regard.types import Look, Memory, Sequences

__all__ = ["Disan", "Two", "places"]


class Two(nn.Module):
    """A linear layer for each direction: `[direction, batch, time, inputs] → […, outputs]`, one product for both."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = (6 / (inputs + outputs)) ** 0.5  # Glorot & Bengio 2010, as in the authors' code
        self.weight = nn.Parameter(torch.empty(2, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(2, 1, outputs))

    def forward(self, x: Float[Tensor, "some batch time inputs"]) -> Float[Tensor, "2 batch time outputs"]:
        rows = x.flatten(1, 2).expand(2, -1, -1)
        out = torch.baddbmm(self.bias.to(rows.dtype), rows, self.weight.to(rows.dtype))
        return out.view(2, *x.shape[1:3], out.shape[-1])


def places(mask: Bool[Tensor, "batch time"]) -> Int[Tensor, "2 batch time"]:
    """Where tokens stand, counted forwards and backwards: `earlier` in the second means later."""
    time = torch.arange(mask.shape[1], device=mask.device, dtype=torch.int32)
    return torch.stack([time, -time])[:, None].expand(2, *mask.shape)


class Disan(Encoder):
    """Directional feature-wise self-attention, `u = F ⊙ h + (1 − F) ⊙ s`, both ways"""

    pool: ClassVar[Spec] = "source2token"
    panels: ClassVar[tuple[str, ...]] = ("forward", "backward")  # what the two squares of its look are

    def __init__(self, inputs: int, hidden: int = 300, c: float = 5.0, dropout: float = 0.0) -> None:
        super().__init__()
        if hidden < 1:
            raise RegardError(f"encoder.hidden={hidden}", expected="at least 1")
        if not c > 0:
            raise RegardError(f"encoder.c={c}", expected="a number above 0")
        if not 0 <= dropout <= 1:
            raise RegardError(f"encoder.dropout={dropout}", expected="from 0 to 1")
        self.W = Two(inputs, hidden)
        self.W_attend = Two(hidden, 2 * hidden)  # of the queries and of the keys
        self.W_gate = Two(2 * hidden, hidden)
        self.c, self.dropout = c, dropout
        self.size = self.summary = 2 * hidden

    def forward(self, inputs: Sequences) -> Memory:
        h = self.tokens(inputs)
        q, k = self.asked(h)
        where, lengths = places(inputs.mask), inputs.mask.sum(-1).expand(2, -1)
        route = choose("feature", "softmax", q, k)
        s = feature_attention(
            q, k, h, scale=self.c, lengths=lengths, pattern="forward", positions=where,
            backend="reference" if route.path == "readable" else "auto",
        )  # fmt: skip

        def weights() -> Tensor:
            found = feature_weights(q, k, scale=self.c, lengths=lengths, pattern="forward", positions=where)
            return found.transpose(0, 1)

        return self.memory(self.fused(h, s), inputs.mask, weights)

    def tokens(self, inputs: Sequences) -> Float[Tensor, "2 batch time hidden"]:
        """`h`; what padding holds must not come through a weight of 0, so it is set to 0."""
        x = inputs.values.masked_fill(~inputs.mask.unsqueeze(-1), 0.0)
        return elu(self.W(dropout(x, self.dropout, self.training).unsqueeze(0)))

    def asked(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys, of both directions."""
        q, k = self.W_attend(dropout(h, self.dropout, self.training)).chunk(2, -1)
        return q, k

    def fused(self, h: Tensor, s: Tensor) -> Float[Tensor, "batch time both"]:
        """`[u_fw; u_bw]`"""
        s = s.to(h.dtype)
        F = torch.sigmoid(self.W_gate(dropout(torch.cat([s, h], -1), self.dropout, self.training)))
        return torch.cat(torch.unbind(torch.lerp(s, h, F.to(h.dtype))), -1)

    def memory(self, u: Tensor, mask: Tensor, weights: Callable[[], Tensor]) -> Memory:
        look = Look(u, weights, features=True)
        return Memory(u, u, mask, mean(u, mask), looks=(("self-attention", look),))
