"""Transformer decoder.

    x = √d · E t + positions
    x ← x + attend(norm x),   x ← x + ask(norm x, memory),   x ← x + W_2 relu(W_1 norm x)      layers times
    logits = E norm x

Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.4, with the norm before each part (see
`regard.attend.block`); E serves both ends (Press & Wolf 2017, "Using the Output Embedding to Improve Language Models").
`attention` makes each layer's attention to the memory, under `heads` unless it has heads of its own; `score` and
`normalizer` are those of the self-attention.

Known tokens are read all at once. Token by token, the keys and values of those read are kept (`TransformerState`), so a
step costs one token, and all hypotheses of a sentence ask one memory. Both ways do the same sums; they differ by how
the library's matrix products, whose order of adding changes with the number of rows, round. Where a search has no use
for gradients and attention is the plain one, a step is told in fewer calls (`regard.predict.generate._cached`).

`look` says which layer's weights are shown, `[batch, head, query, key]`: the last, one by number (the first is 0), the
mean of all layers head by head, or all of them, their heads one after another. They are worked out when asked for.

    decoder = Transformer(vocab=8000, memory=256, attention=partial(make, score="scaled_dot"))
    state, look, logits = decoder.step(decoder.start(memory), token)
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, linear

from regard.attend.attention import Attention
from regard.attend.block import Block, xavier
from regard.attend.layers import Layers
from regard.attend.mask import causal
from regard.attend.positions import Kind, Places, Positions
from regard.find import In, Spec
from regard.predict.generate import Decoder
from regard.predict.generate._cached import DecodingPlan, Quick, TransformerState
from regard.ranges import Depth, Dropout, Few, Length, Range, Width, ranged
from regard.types import Look, Memory

__all__ = ["Transformer", "TransformerState"]


class Transformer(Layers, Decoder):  # type: ignore[override]
    """Transformer decoder: layers of self-attention, cross-attention and feed-forward networks."""

    @ranged
    def __init__(
        self,
        vocab: int,
        memory: int,
        attention: Callable[..., Attention],
        size: Annotated[Width, "width of the model (d_model)"] = 256,
        layers: Annotated[Depth, "number of layers"] = 4,
        heads: Annotated[Few, "attention heads in each layer; they must divide size"] = 4,
        ffn: Annotated[Width, "units of the feed-forward layer"] = 1024,
        dropout: Annotated[
            Dropout, "dropout on the embeddings, in the feed-forward layer and on each sublayer's output"
        ] = 0.1,
        positions: Annotated[Kind, "kind of position encoding"] = "sinusoid",
        max_length: Annotated[Length, "longest text, in tokens (positions=learned)"] = 1024,
        score: Annotated[Spec, In("attend.score"), "how self-attention compares a query and a key"] = "scaled_dot",
        normalizer: Annotated[
            Spec, In("attend.normalizer"), "how self-attention turns scores into weights"
        ] = "softmax",
        look: Annotated[
            Literal["last", "mean", "all"] | Annotated[int, Range(-1000, 999)],
            "layer whose attention is shown: last, the mean of all layers, all, or a layer's number (0 is the first)",
        ] = "last",
    ) -> None:
        super().__init__()
        self.size, self.dropout = size, dropout
        self.embedding = nn.Embedding(vocab, size)
        nn.init.normal_(self.embedding.weight, std=size**-0.5)
        self.positions = Positions(positions, size, heads, max_length)
        # A memory of another width is brought to this one once, not at each layer.
        self.W_m = nn.Linear(memory, size) if memory != size else None
        if self.W_m is not None:
            xavier(self.W_m)
        self.blocks: Any = nn.ModuleList(
            Block(size, heads, ffn, dropout, _asking(attention, size, heads), score, normalizer) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(size)
        self.show(look)

    def looking(self, block: Any) -> Attention:
        """Attention to the memory."""
        return block.asking  # type: ignore[no-any-return]

    @property
    def source_attention(self) -> Attention:
        return self.looking(self.blocks[-1])

    @property
    def parallel(self) -> bool:
        """Whether known tokens are read all at once: unless a look at the memory depends on earlier ones."""
        return not any(block.asking.waits for block in self.blocks)

    @property
    def carries(self) -> bool:
        """What was seen in one layer is asked for by later tokens in the next."""
        return len(self.blocks) > 1 or not self.parallel

    def start(self, memory: Memory) -> TransformerState | Quick:
        prepared = self._prepared(memory)
        plan = DecodingPlan.of(self, prepared, memory)
        return (
            TransformerState((), (), (None,) * len(self.blocks), prepared, memory)
            if plan is None
            else Quick((), 1, plan)
        )

    def step(
        self, state: TransformerState | Quick, token: Int[Tensor, "batch beam"]
    ) -> tuple[TransformerState | Quick, Look, Float[Tensor, "batch beam vocab"]]:
        if isinstance(state, Quick):
            plan = state.plan
            if plan.holds:
                quick, looks, logits = plan.step(state, token)
                return quick, self.shown(looks), logits
            state = state.apart()
        shape = token.shape
        places = self.positions(state.time, 1, token.device)
        x = self._embed(token.reshape(-1, 1), places)  # for self-attention each hypothesis is a row of one token
        looks, own, keys, values = [], [], [], []
        for layer, block in enumerate(self.blocks):
            x, back, read = block.attend(x, places, past=state.past(layer))
            # … for attention to the memory those of a sentence are its queries.
            x, look = block.ask(x.reshape(*shape, self.size), state.prepared[layer], state.looked[layer])
            x = block.think(x).reshape(-1, 1, self.size)
            looks.append(look)
            own.append(back)
            keys.append(read.keys.unflatten(0, shape))
            values.append(read.values.unflatten(0, shape))
        looked = tuple(look.state for look in looks)
        after = TransformerState(tuple(keys), tuple(values), looked, state.prepared, state.memory)
        return after, _chosen(self.shown(looks), [*looks, *own], shape), self._logits(x).reshape(*shape, -1)

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        if not self.parallel:
            return super().unroll(memory, tokens)
        time = tokens.shape[1]
        places = self.positions(0, time, tokens.device)
        x = self._embed(tokens, places)
        seen = causal(time, time, tokens.device).unsqueeze(0)
        looks, own = [], []
        for block, prepared in zip(self.blocks, self._prepared(memory), strict=True):
            x, back, _ = block.attend(x, places, seen=seen)
            x, look = block.ask(x, prepared, block.asking.start(prepared))
            x = block.think(x)
            looks.append(look)
            own.append(back)
        return _chosen(self.shown(looks), [*looks, *own], tokens.shape), self._logits(x)

    def _prepared(self, memory: Memory) -> tuple[Memory, ...]:
        """The memory as each layer's attention asks it."""
        keys, values = memory.keys, memory.values
        if self.W_m is not None:
            keys = self.W_m(keys)
            values = keys if memory.values is memory.keys else self.W_m(values)
        return tuple(block.asking.prepare(keys, values, memory.mask) for block in self.blocks)

    def _embed(self, tokens: Int[Tensor, "row time"], places: Places) -> Float[Tensor, "row time size"]:
        x = self.embedding(tokens) * self.size**0.5
        return dropout(places.added(x), self.dropout, self.training)

    def _logits(self, x: Float[Tensor, "row time size"]) -> Float[Tensor, "row time vocab"]:
        return linear(self.norm(x), self.embedding.weight)


def _chosen(shown: Look, looks: Sequence[Look], shape: torch.Size) -> Look:
    """The look that is shown, with all that was sampled for a token: whichever layer, head or attention drew it, the
    token that is said depends on it."""
    sampled = [(one.log_prob, one.entropy) for one in looks if one.log_prob is not None and one.entropy is not None]
    if not sampled:
        return shown
    log_prob, entropy = (
        torch.stack([one.sum(1).reshape(shape) for one in part]).sum(0) for part in zip(*sampled, strict=True)
    )
    return replace(shown, log_prob=log_prob, entropy=entropy)


def _asking(attention: Callable[..., Attention], size: int, heads: int) -> Attention:
    """Attention to the memory, as the task makes it; where that has no heads, under as many as self-attention has."""
    made = attention(query=size, key=size, value=size)
    return made if made.heads is not None else attention(query=size, key=size, value=size, heads=heads)
