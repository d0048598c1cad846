"""What a Transformer decoder caches from step to step, and its step for many hypotheses in few calls.

Token by token it is not the sums that take the time but the telling: written out, a step of four layers is 360 calls of
PyTorch, each some microseconds of a host for which a GPU waits. Here nothing is made twice that stays the same:
weights in the precision of the products, tables of the places, what is hidden in the memory. Queries, keys and values
are rotated together, as complex numbers (`(a + ib)(cos + i sin)`; values by 1), and keys and values of a layer are one
tensor, which grows in one call and follows the hypotheses in one.

    plan = DecodingPlan.of(decoder, prepared, memory)       # None: this is not for it
    state, looks, logits = plan.step(Quick((), 1, plan), token)

It is for a search without gradients, below float64, of dot products under a softmax without biases. Else the step of
`regard.predict.generate.transformer` is taken; both do the same sums.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding, layer_norm, linear, pad, scaled_dot_product_attention

from regard.attend.attention import Attention
from regard.attend.score import Score
from regard.kernels.choose import choose
from regard.types import Beams, Look, Memory

__all__ = ["DecodingPlan", "Quick", "TransformerState"]

CHUNK = 64  # so many places are worked out at once


@dataclass(frozen=True)
class TransformerState(Beams):
    """A layer each: keys and values of the tokens read (none at the start), attention's own state, the memory as its
    attention prepared it. And the memory as it was given."""

    keys: tuple[Float[Tensor, "batch beam head time hidden"], ...]
    values: tuple[Float[Tensor, "batch beam head time width"], ...]
    looked: tuple[Any, ...]
    prepared: tuple[Memory, ...]
    memory: Memory

    @property
    def time(self) -> int:
        """How many tokens were read."""
        return self.keys[0].shape[-2] if self.keys else 0

    def past(self, layer: int) -> Memory | None:
        """What self-attention looks at, each hypothesis a row of its own."""
        return Memory(self.keys[layer].flatten(0, 1), self.values[layer].flatten(0, 1)) if self.keys else None


@dataclass(frozen=True)
class Quick(Beams):
    """Keys and values of the tokens read, a tensor a layer, and the plan, which is the same for all steps."""

    kept: tuple[Float[Tensor, "row 2 head time width"], ...]
    beam: int
    plan: "DecodingPlan"

    def reorder(self, parents: Int[Tensor, "batch beam"]) -> "Quick":
        if not self.time:
            return replace(self, beam=parents.shape[1])
        rows = (parents + self.plan.firsts(self.beam)).flatten()
        return Quick(tuple([one.index_select(0, rows) for one in self.kept]), parents.shape[1], self.plan)

    @property
    def time(self) -> int:
        """How many tokens were read."""
        return self.kept[0].shape[3] if self.kept else 0

    def apart(self) -> TransformerState:
        """The same as the other step takes it."""
        both = [one.reshape(-1, self.beam, *one.shape[1:]) for one in self.kept]
        keys, values = tuple(one[:, :, 0] for one in both), tuple(one[:, :, 1] for one in both)
        return TransformerState(keys, values, (None,) * len(self.plan.layers), self.plan.prepared, self.plan.memory)

    def select(self, rows: Int[Tensor, " some"]) -> Any:
        return self.apart().select(rows)

    def to(self, device: torch.device | str) -> Any:
        return self.apart().to(device)


@dataclass(frozen=True)
class _Layer:
    """A block's weights as its products want them, and its memory; a norm is its gain, its bias and its epsilon."""

    norms: tuple[tuple[Tensor, Tensor, float], ...]  # before attending, asking, thinking
    W_qkv: Tensor
    W_o: tuple[Tensor, Tensor | None]
    W_q: tuple[Tensor, Tensor | None]
    W_a: tuple[Tensor, Tensor | None]  # of what the memory answered
    W_1: tuple[Tensor, Tensor | None]
    W_2: tuple[Tensor, Tensor | None]
    heads: int  # that ask the memory
    scale: float
    scale_asking: float
    memory: Memory


class DecodingPlan:
    """All that stays the same while a batch is decoded. The tables of places grow as they are needed."""

    def __init__(self, decoder: Any, prepared: Sequence[Memory], memory: Memory, half: torch.dtype) -> None:
        self.decoder, self.prepared, self.memory, self.half = decoder, tuple(prepared), memory, half
        # Autocast keeps a softmax in float32 on a GPU, and nowhere else.
        self.wide = torch.float32 if memory.keys.is_cuda and torch.is_autocast_enabled("cuda") else half
        self.weighs = [(part, part.normalizer) for block in decoder.blocks for part in _attentions(block)]
        self.own_heads = decoder.blocks[0].attending.attention.heads.heads
        self.E, self.norm = decoder.embedding.weight, _norm(decoder.norm)
        self.out = self.E.to(half)
        mask = memory.mask
        self.hidden = self.bias = None
        if mask is not None:
            there = mask.any(-1, keepdim=True)
            self.hidden = ~mask[:, None, None]
            # 0 or −inf, in rows of a multiple of eight: PyTorch's kernel would copy them into such at each call.
            wide = pad((~mask & there), (0, -mask.shape[1] % 8))[:, None, None]
            wide = torch.zeros_like(wide, dtype=half).masked_fill_(wide, float("-inf"))
            self.bias = wide[..., : mask.shape[1]]
            # Of nothing comes nothing: a hidden row looks everywhere, at zeros.
            gone = ~there[:, :, None, None]
            prepared = [replace(one, values=one.values.masked_fill(gone, 0.0)) for one in prepared]
        self.layers = [self._layer(block, one) for block, one in zip(decoder.blocks, prepared, strict=True)]
        self.tables: list[Tensor] = []
        self.first: dict[int, Tensor] = {}

    @staticmethod
    def of(decoder: Any, prepared: Sequence[Memory], memory: Memory) -> "DecodingPlan | None":
        """None where the decoder, or what is asked of it now, is not of the plain kind."""
        kind = memory.keys.device.type
        half = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else decoder.embedding.weight.dtype
        fits = half in (torch.float32, torch.bfloat16, torch.float16) and not torch.is_grad_enabled()
        if not fits or decoder.training or not all(_plain(one) for b in decoder.blocks for one in _attentions(b)):
            return None
        if any(one.keys.dtype != half or one.values.dtype != half for one in prepared):
            return None
        return DecodingPlan(decoder, prepared, memory, half)

    @property
    def holds(self) -> bool:
        """Whether it is still so: another normalizer may stand in for a while, or gradients be wanted."""
        calm = not (torch.is_grad_enabled() or self.decoder.training)
        return calm and all(part.normalizer is one for part, one in self.weighs)

    def firsts(self, beam: int) -> Int[Tensor, "batch 1"]:
        """The first row of each sentence."""
        if beam not in self.first:
            batch = len(self.memory.keys)
            self.first[beam] = torch.arange(0, batch * beam, beam, device=self.memory.keys.device)[:, None]
        return self.first[beam]

    def step(self, state: Quick, token: Int[Tensor, "batch beam"]) -> tuple[Quick, list[Look], Tensor]:
        """The state after the token, every layer's look at the memory, and the logits."""
        with torch.autocast(token.device.type, enabled=False):  # all is in its precision already
            return self._step(state, token)

    def _step(self, state: Quick, token: Tensor) -> tuple[Quick, list[Look], Tensor]:
        size, half, (batch, beam), time = self.decoder.size, self.half, token.shape, state.time
        place = self._place(time)
        rotary = place.is_complex()
        x = embedding(token.reshape(-1), self.E) * size**0.5
        if not rotary:
            x = x + place
        kept, looks = [], []
        for number, one in enumerate(self.layers):
            attend, ask, think = one.norms
            qkv = linear(layer_norm(x, (size,), *attend).to(half), one.W_qkv)
            if rotary:
                pairs = torch.view_as_complex(qkv.float().view(len(x), 3, -1, 2))
                qkv = torch.view_as_real(pairs * place).to(half)
            qkv = qkv.view(len(x), 3, self.own_heads, 1, -1)
            q, kv = qkv[:, 0], qkv[:, 1:]
            if time:
                kv = torch.cat([state.kept[number], kv], dim=3)
            kept.append(kv)
            answer = _attend(q, kv[:, 0], kv[:, 1], None, one.scale)
            x = x + linear(answer.reshape(len(x), size), *one.W_o)

            q = linear(layer_norm(x, (size,), *ask).to(half), *one.W_q).view(batch, beam, one.heads, -1).transpose(1, 2)
            answer = _attend(q, one.memory.keys, one.memory.values, self.bias, one.scale_asking)
            more = linear(answer.transpose(1, 2).reshape(len(x), -1), *one.W_a)
            looks.append(Look(more.view(batch, beam, -1), partial(self._weights, q, one)))
            x = x + more

            inner = linear(layer_norm(x, (size,), *think).to(half), *one.W_1).relu_()
            x = x + linear(inner, *one.W_2)
        logits = linear(layer_norm(x, (size,), *self.norm).to(half), self.out)
        return Quick(tuple(kept), beam, self), looks, logits.view(batch, beam, -1)

    def _place(self, time: int) -> Tensor:
        """What is added there, or by what queries and keys are rotated: `[3, head · half]`, complex; values by 1."""
        while time >= sum(map(len, self.tables)):
            first = sum(map(len, self.tables))
            longest = self.decoder.positions.places
            ends = first + CHUNK if longest is None else max(min(first + CHUNK, longest.num_embeddings), time + 1)
            at = self.decoder.positions(first, ends - first, self.memory.keys.device)
            if at.vectors is not None:
                self.tables.append(at.vectors.to(self.E.dtype))
                continue
            turn = torch.complex(at.cos.float(), at.sin.float()).repeat(1, self.own_heads).unsqueeze(1)
            self.tables.append(torch.cat([turn, turn, torch.ones_like(turn)], dim=1))
        if len(self.tables) > 1:
            self.tables = [torch.cat(self.tables)]
        return self.tables[0][time]

    def _weights(self, q: Tensor, one: _Layer) -> Float[Tensor, "batch head query key"]:
        """As a softmax of the readable path gives them."""
        scores = one.scale_asking * (q @ one.memory.keys.transpose(-1, -2))
        if self.hidden is None:
            return torch.softmax(scores, dim=-1, dtype=self.wide)
        scores.masked_fill_(self.hidden, torch.finfo(scores.dtype).min)
        return torch.softmax(scores, dim=-1, dtype=self.wide).masked_fill_(self.hidden, 0.0)

    def _layer(self, block: Any, memory: Memory) -> _Layer:
        attending, asking = _attentions(block)
        return _Layer(
            norms=tuple(_norm(one) for one in (block.norm_attend, block.norm_ask, block.norm_think)),
            W_qkv=block.attending.W_qkv.weight.to(self.half),
            W_o=self._map(attending.heads.W_o),
            W_q=self._map(asking.heads.W_q),
            W_a=self._map(asking.heads.W_o),
            W_1=self._map(block.W_1),
            W_2=self._map(block.W_2),
            heads=asking.heads.heads,
            scale=attending.score.scale,
            scale_asking=asking.score.scale,
            memory=replace(memory, keys=memory.keys.contiguous()),
        )

    def _map(self, one: nn.Linear) -> tuple[Tensor, Tensor | None]:
        return one.weight.to(self.half), None if one.bias is None else one.bias.to(self.half)


def _attentions(block: Any) -> tuple[Any, Any]:
    return block.attending.attention, block.asking


def _plain(one: Attention) -> bool:
    """A dot product of what the heads project, under a softmax, and nothing else."""
    score = type(one.score)
    dot = one.score.kernel == "dot" and score.project is Score.project and score.prepare is Score.prepare
    heads = one.heads is not None and one.heads.W_o is not None
    return dot and heads and one.normalizer.kernel == "softmax" and not one.bias and not one.stateful


def _norm(one: nn.LayerNorm) -> tuple[Tensor, Tensor, float]:
    return one.weight, one.bias, one.eps


def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """The fused kernel's answer, or (on a GPU, few questions over many keys) the readable one: see `choose`."""
    if choose("dot", "softmax", q, k).path == "sdpa":
        return scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=scale)
    scores = scale * (q @ k.transpose(-1, -2))
    scores = scores if bias is None else scores + bias
    return torch.softmax(scores, dim=-1, dtype=torch.float32).to(v.dtype) @ v
