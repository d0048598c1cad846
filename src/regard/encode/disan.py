"""DiSAN: feature-wise self-attention in two directions, over the earlier and over the later tokens.

For each direction `h = elu(W x + b)`, `s_j = Σ_i a_ij ⊙ h_i` over the earlier (later) tokens i with a score for each
feature, and a gate between a token and its context: `F = σ(W_f1 s + W_f2 h + b)`, `u = F ⊙ h + (1 − F) ⊙ s`. The
states are `[u_fw; u_bw]`, pooled by source2token. Shen et al. 2018, "DiSAN: Directional Self-Attention Network for
RNN/CNN-Free Language Understanding", sections 3.1 and 3.2.

Both directions are computed as one attention; the backward one counts positions backwards.

    Disan(inputs=300)(sequences).values                  # [batch, time, 600]
"""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, elu_

from regard.encode import Encoder
from regard.find import Spec
from regard.kernels.choose import choose
from regard.kernels.feature import feature_attention, feature_weights
from regard.pool.mean import mean
from regard.ranges import Dropout, Positive, Width, ranged
from regard.types import Look, Memory, Sequences

__all__ = ["Disan", "Two", "places"]


def _beside(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(tuple(parts), -1)


class _Dropped(torch.autograd.Function):
    """`b + x W`, x being what dropout leaves of some parts side by side. Others keep the parts for the way back too, so
    of x only which numbers fell is kept, and x is put together again: 13 % less memory for three operations.
    """

    @staticmethod
    def forward(ctx: Any, drop: float, W: Tensor, b: Tensor, *parts: Tensor) -> Tensor:
        x, kept = _beside(parts), None
        if drop > 0:
            x, kept = torch.native_dropout(x, drop, True)
        ctx.save_for_backward(W, kept, *parts)
        ctx.scale = 0.0 if drop == 1 else 1 / (1 - drop)
        return torch.baddbmm(b, x, W)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        W, kept, *parts = ctx.saved_tensors

        def dropped(x: Tensor) -> Tensor:
            return x if kept is None else torch.ops.aten.native_dropout_backward(x, kept, ctx.scale)

        of_W = torch.bmm(dropped(_beside(parts)).mT, grad)
        of_parts = torch.split(dropped(torch.bmm(grad, W.mT)), [part.shape[-1] for part in parts], -1)
        return None, of_W, grad.sum(1, keepdim=True), *of_parts


def _product(drop: float, W: Tensor, b: Tensor, *parts: Tensor) -> Tensor:
    return _Dropped.apply(drop, W, b, *parts)  # type: ignore[no-untyped-call, no-any-return]


class Two(nn.Module):
    """A linear layer for each direction: `[direction, batch, time, inputs] → […, outputs]`, one product for both.

    It may read several parts side by side, drop some of their numbers first, and bend what comes out (`act`).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        bound = (6 / (inputs + outputs)) ** 0.5  # Glorot & Bengio 2010, as in the authors' code
        self.weight = nn.Parameter(torch.empty(2, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(2, 1, outputs))

    def forward(
        self,
        *parts: Float[Tensor, "some batch time _"],
        drop: float = 0.0,
        act: Callable[[Tensor], Tensor] | None = None,
    ) -> Float[Tensor, "2 batch time outputs"]:
        kind, device = parts[0].dtype, parts[0].device.type
        if torch.is_autocast_enabled(device) and kind != torch.float64:
            kind = torch.get_autocast_dtype(device)
        # Made narrow before there are two of it.
        rows = [part.flatten(1, 2).to(kind).expand(2, -1, -1) for part in parts]
        W, b = self.weight.to(kind), self.bias.to(kind)
        plain = len(rows) == 1 and drop == 0
        out = torch.baddbmm(b, rows[0], W) if plain else _product(drop, W, b, *rows)
        out = out if act is None else act(out)
        return out.view(2, *parts[0].shape[1:3], out.shape[-1])


def places(mask: Bool[Tensor, "batch time"]) -> Int[Tensor, "2 batch time"]:
    """Where tokens stand, counted forwards and backwards: `earlier` in the second means later."""
    time = torch.arange(mask.shape[1], device=mask.device, dtype=torch.int32)
    return torch.stack([time, -time])[:, None].repeat(1, mask.shape[0], 1)


class Disan(Encoder):
    """Directional feature-wise self-attention, forward and backward, with a gate: `u = F ⊙ h + (1 − F) ⊙ s`"""

    pool: ClassVar[Spec] = "source2token"
    head_names: ClassVar[tuple[str, ...]] = ("forward", "backward")  # what the two squares of its look are
    features: ClassVar[bool] = True

    @ranged
    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "features of each direction"] = 300,
        c: Annotated[Positive, "attention scores are bounded to ±c"] = 5.0,
        dropout: Annotated[Dropout, "dropout before each linear layer"] = 0.0,
    ) -> None:
        super().__init__()
        self.W = Two(inputs, hidden)
        self.W_attend = Two(hidden, 2 * hidden)  # of the queries and of the keys
        self.W_gate = Two(2 * hidden, hidden)
        self.c, self.dropout = c, dropout
        self.size = self.summary = 2 * hidden

    def forward(self, inputs: Sequences) -> Memory:
        h = self.tokens(inputs)
        q, k = self.asked(h)
        where, lengths = places(inputs.mask), inputs.mask.sum(-1).repeat(2, 1)
        s = self.seen(q, k, h, lengths=lengths, pattern="forward", positions=where)

        def weights() -> Tensor:
            found = feature_weights(q, k, scale=self.c, lengths=lengths, pattern="forward", positions=where)
            return found.transpose(0, 1)

        return self.memory(self.fused(h, s), inputs.mask, weights)

    @property
    def _drop(self) -> float:
        return self.dropout if self.training else 0.0

    def tokens(self, inputs: Sequences) -> Float[Tensor, "2 batch time hidden"]:
        """`h`; what padding holds must not come through a weight of 0, so it is set to 0."""
        x = inputs.values.masked_fill(~inputs.mask.unsqueeze(-1), 0.0)
        # In place: then what comes out is kept for the way back, and it is needed there anyway.
        return self.W(dropout(x, self.dropout, self.training).unsqueeze(0), act=elu_)  # type: ignore[no-any-return]

    def asked(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys, of both directions."""
        q, k = self.W_attend(h, drop=self._drop).chunk(2, -1)
        return q.contiguous(), k.contiguous()  # here and not in the kernel, which would do it in both its passes

    def seen(self, q: Tensor, k: Tensor, h: Tensor, mask: Tensor | None = None, **spec: Any) -> Tensor:
        """`s`, what every token sees of the tokens it may look at."""
        little = choose("feature", "softmax", q, k).path == "readable"
        return feature_attention(q, k, h, mask, scale=self.c, backend="reference" if little else "auto", **spec)

    def fused(self, h: Tensor, s: Tensor) -> Float[Tensor, "batch time both"]:
        """`[u_fw; u_bw]`"""
        s = s.to(h.dtype)
        F = torch.sigmoid(self.W_gate(s, h, drop=self._drop))
        return torch.cat(torch.unbind(torch.lerp(s, h, F.to(h.dtype))), -1)

    def memory(self, u: Tensor, mask: Tensor, weights: Callable[[], Tensor]) -> Memory:
        look = Look(u, weights, features=True)
        return Memory(u, u, mask, mean(u, mask), looks=(("self-attention", look),))
