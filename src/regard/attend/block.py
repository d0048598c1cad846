"""A Transformer block: self-attention, optional cross-attention and a feed-forward network.

    x ← x + drop(attend(norm x))        self-attention, causal or not
    x ← x + drop(ask(norm x, memory))   cross-attention, in a decoder
    x ← x + drop(W_2 drop(relu(W_1 norm x + b_1)) + b_2)

Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.3, with the norm before each part instead of after
its sum (pre-norm; Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture": it needs no long
warm-up). The caller normalises the output of the last block. Queries, keys and values of self-attention are one
product without biases: with a softmax a key's bias changes nothing, and a value's is part of W_o's.

With `norm="post"` each sum is normalised, as in the paper and in BERT: `x ← norm(x + drop(attend(x)))`. `activation`
takes the place of relu, and `bias` gives queries, keys and values their biases.

    block = Block(size=256, heads=4, ffn=1024, dropout=0.1)
    x, look, _ = block.attend(x, places, mask)           # [batch, time, 256]
    x = block.think(x)
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu, relu, silu

from regard.attend.attention import Attention
from regard.attend.heads import Heads
from regard.attend.positions import Places
from regard.find import Spec, build
from regard.ranges import Probability, ranged
from regard.types import Look, Memory

__all__ = ["Activation", "Block", "Norm", "SelfAttention", "xavier"]

Norm = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": relu,
    "gelu": gelu,  # Hendrycks & Gimpel 2016, "Gaussian Error Linear Units", exact
    "gelu_tanh": partial(gelu, approximate="tanh"),  # their approximation, in BERT's first code and in GPT-2
    "silu": silu,
}


def xavier(*maps: nn.Linear | None) -> None:
    """Glorot & Bengio 2010: output and input have the same variance; biases start at zero."""
    for one in filter(None, maps):
        nn.init.xavier_uniform_(one.weight)
        if one.bias is not None:
            nn.init.zeros_(one.bias)


class Projected(Heads):
    """Heads over inputs that are already projected; only the output is projected, by W_o."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__(size, size, size, heads)
        del self.W_q, self.W_k, self.W_v

    def _split(self, x: Float[Tensor, "batch time size"]) -> Float[Tensor, "batch head time width"]:
        # Spelt out, for a width of -1 cannot be told where there is no token at all.
        return x.reshape(*x.shape[:-1], self.heads, self.size // self.heads).transpose(1, 2)

    def query(self, query: Float[Tensor, "batch query size"]) -> Float[Tensor, "batch head query width"]:
        return self._split(query)

    def keys(self, keys: Float[Tensor, "batch key size"]) -> Float[Tensor, "batch head key width"]:
        return self._split(keys)

    def values(self, values: Float[Tensor, "batch key size"]) -> Float[Tensor, "batch head key width"]:
        return self._split(values)


class SelfAttention(nn.Module):
    """Multi-head self-attention."""

    def __init__(
        self, size: int, heads: int, score: Spec = "scaled_dot", normalizer: Spec = "softmax", bias: bool = False
    ) -> None:
        super().__init__()
        around, width = Projected(size, heads), size // heads
        scored = build("attend.score", score, query=width, key=width, value=width)
        self.W_qkv = nn.Linear(size, 3 * size, bias=bias)
        self.attention = Attention(scored, build("attend.normalizer", normalizer), heads=around)
        xavier(self.W_qkv, around.W_o)

    def forward(
        self,
        x: Float[Tensor, "row time size"],
        places: Places,
        mask: Bool[Tensor, "row time"] | None = None,
        seen: Bool[Tensor, "#row #time key"] | None = None,
        past: Memory | None = None,
        hiding: Float[Tensor, "row #head #time key"] | None = None,
    ) -> tuple[Look, Memory]:
        """The look, and the new key-value cache: `past` and these tokens.

        `mask` is the padding mask, `seen` says which tokens each query may attend to. `hiding` is both together, as
        `regard.kernels.dot.hidden` prepares them for all layers; then nothing that is hidden may be NaN or infinite.
        """
        if places.cos is None:
            q, k, v = self.W_qkv(x).chunk(3, dim=-1)
        else:
            qk, v = self.W_qkv(x).split([2 * x.shape[-1], x.shape[-1]], dim=-1)
            q, k = places.rotated(qk).chunk(2, dim=-1)  # all heads are rotated alike, whoever's they are
        memory = self.attention.prepare(k, v, mask, clean=hiding is not None)
        if past is not None:
            keys, values = (past.keys, memory.keys), (past.values, memory.values)
            memory = replace(memory, keys=torch.cat(keys, dim=-2), values=torch.cat(values, dim=-2))
        return self.attention(q, memory, mask=seen, hiding=hiding), memory


class Block(nn.Module):
    """The sublayers of a block, each normalised and with a residual; `ask` needs `asking`, the cross-attention."""

    @ranged
    def __init__(
        self,
        size: int,
        heads: int,
        ffn: int,
        dropout: Probability,
        asking: Attention | None = None,
        score: Spec = "scaled_dot",
        normalizer: Spec = "softmax",
        norm: Norm = "pre",
        activation: Activation = "relu",
        bias: bool = False,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.dropout, self.post, self.activation = dropout, norm == "post", ACTIVATIONS[activation]
        self.attending, self.asking = SelfAttention(size, heads, score, normalizer, bias), asking
        self.W_1, self.W_2 = nn.Linear(size, ffn), nn.Linear(ffn, size)
        self.norm_attend, self.norm_think = nn.LayerNorm(size, eps), nn.LayerNorm(size, eps)
        self.norm_ask = None if asking is None else nn.LayerNorm(size, eps)
        xavier(self.W_1, self.W_2)
        if asking is not None and asking.heads is not None:
            xavier(asking.heads.W_q, asking.heads.W_k, asking.heads.W_v, asking.heads.W_o)

    def attend(
        self,
        x: Float[Tensor, "row time size"],
        places: Places,
        mask: Bool[Tensor, "row time"] | None = None,
        seen: Bool[Tensor, "#row #time key"] | None = None,
        past: Memory | None = None,
        hiding: Float[Tensor, "row #head #time key"] | None = None,
    ) -> tuple[Float[Tensor, "row time size"], Look, Memory]:
        """Self-attention: the new states, the look, and the key-value cache for the next token."""
        look, memory = self.attending(self._before(x, self.norm_attend), places, mask, seen, past, hiding)
        return self._add(x, look.context, self.norm_attend), look, memory

    def ask(
        self, x: Float[Tensor, "batch query size"], memory: Memory, state: Any = None
    ) -> tuple[Float[Tensor, "batch query size"], Look]:
        """Cross-attention to a memory that `asking` prepared."""
        assert self.asking is not None
        assert self.norm_ask is not None
        look: Look = self.asking(self._before(x, self.norm_ask), memory, state)
        return self._add(x, look.context, self.norm_ask), look

    def think(self, x: Float[Tensor, "row time size"]) -> Float[Tensor, "row time size"]:
        """The feed-forward network."""
        inner = dropout(self.activation(self.W_1(self._before(x, self.norm_think))), self.dropout, self.training)
        return self._add(x, self.W_2(inner), self.norm_think)

    def _before(self, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        """What a sublayer reads."""
        return x if self.post else norm(x)

    def _add(self, x: Tensor, more: Tensor, norm: nn.LayerNorm) -> Tensor:
        """The residual, and after it the norm where that comes last."""
        total = x + dropout(more, self.dropout, self.training)
        return norm(total) if self.post else total
