"""Transformer language model with causal self-attention.

    x = √d · E t + positions
    x ← x + attend(norm x),   x ← x + W_2 relu(W_1 norm x)      layers times
    logits = E norm x

Vaswani et al. 2017, "Attention Is All You Need", sections 3.1 to 3.5, the decoder without a source; Radford et al.
2018, "Improving Language Understanding by Generative Pre-Training", section 3.1. Layers are pre-norm (see
`regard.attend.block`), and the embeddings E are tied to the output layer (Press & Wolf 2017, "Using the Output
Embedding to Improve Language Models"). Every block uses the score and the normalizer of `attention`, with `heads`
heads.

Known tokens are read in parallel. In decoding, keys and values are cached, so a step costs one token. Prompts of
different lengths can be continued in one batch: each has its own positions.

    Transformer(vocab=10_000, attention=None)(batch)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout, linear

from regard.attend.attention import Attention
from regard.attend.block import Block
from regard.attend.layers import Layers
from regard.attend.mask import causal
from regard.attend.positions import Kind, Places, Positions
from regard.errors import RegardError
from regard.predict.language import LanguageModel, begun
from regard.ranges import Depth, Dropout, Few, Length, Range, Width, ranged
from regard.types import Beams, Look, Memory, Sequences

__all__ = ["Begun", "Transformer", "TransformerLanguageState"]


@dataclass(frozen=True)
class Begun(Memory):
    """Keys and values of all layers side by side, of each beginning but its last token, which is still to be read."""

    last: Int[Tensor, " batch"] | None = None
    max_length: int = 0  # how many tokens the longest beginning has


@dataclass(frozen=True)
class TransformerLanguageState(Beams):
    """A layer each: keys and values of the tokens read. `there`: which of these are no padding."""

    keys: tuple[Float[Tensor, "batch beam head time hidden"], ...]
    values: tuple[Float[Tensor, "batch beam head time width"], ...]
    there: Bool[Tensor, "batch beam time"]
    place: Int[Tensor, "batch beam"]  # of the token to be read next
    last: Int[Tensor, "batch beam"] | None  # the last of the beginning, until it is read
    end: int  # no place is beyond this

    def past(self, layer: int) -> Memory:
        """What self-attention looks at, each hypothesis a row of its own."""
        return Memory(self.keys[layer].flatten(0, 1), self.values[layer].flatten(0, 1))


class Transformer(Layers, LanguageModel):  # type: ignore[override]
    """Transformer language model: layers of causal self-attention and feed-forward networks."""

    looks = True

    @ranged
    def __init__(
        self,
        vocab: int,
        attention: Mapping[str, Any] | None,
        size: Annotated[Width, "width of the model (d_model)"] = 256,
        layers: Annotated[Depth, "number of layers"] = 4,
        heads: Annotated[Few, "attention heads in each layer; they must divide size"] = 4,
        ffn: Annotated[Width, "units of the feed-forward layer"] = 1024,
        dropout: Annotated[
            Dropout, "dropout on the embeddings, in the feed-forward layer and on each sublayer's output"
        ] = 0.2,
        positions: Annotated[Kind, "kind of position encoding"] = "rotary",
        max_length: Annotated[Length, "longest text, in tokens (positions=learned)"] = 1024,
        look: Annotated[
            Literal["last", "mean", "all"] | Annotated[int, Range(-1000, 999)],
            "layer whose attention is shown: last, the mean of all layers, all, or a layer's number (0 is the first)",
        ] = "last",
    ) -> None:
        super().__init__(vocab, attention)
        asked = dict(attention or {})
        given = [name for name in ("bias", "heads", "size") if asked.get(name)]
        if given:
            raise RegardError(
                f"attention.{given[0]}={asked[given[0]]} in a Transformer",
                expected="only attention.score and attention.normalizer",
                do="remove it; use network.heads and network.positions",
            )
        self.size, self.dropout = size, dropout
        self.embedding = nn.Embedding(vocab, size)
        nn.init.normal_(self.embedding.weight, std=size**-0.5)
        self.positions = Positions(positions, size, heads, max_length)
        parts = {"score": asked.get("score", "scaled_dot"), "normalizer": asked.get("normalizer", "softmax")}
        self.blocks: Any = nn.ModuleList(Block(size, heads, ffn, dropout, **parts) for _ in range(layers))
        if any(self.looking(block).stateful for block in self.blocks):
            raise RegardError(
                "an attention score that keeps state between steps", expected="one without state, for a language model"
            )
        self.norm = nn.LayerNorm(size)
        self.show(look)

    def looking(self, block: Any) -> Attention:
        return block.attending.attention  # type: ignore[no-any-return]

    def states(self, tokens: Int[Tensor, "batch time"]) -> tuple[Look, Float[Tensor, "batch time size"]]:
        looks, _, x = self._through(tokens)
        return self.shown(looks), self.norm(x)

    def _through(
        self, tokens: Int[Tensor, "batch time"]
    ) -> tuple[list[Look], list[Memory], Float[Tensor, "batch time size"]]:
        """Every layer's look, what it can be asked, and what the last one said."""
        time = tokens.shape[1]
        places, seen = self.positions(0, time, tokens.device), causal(time, time, tokens.device).unsqueeze(0)
        x, looks, memories = self._embed(tokens, places), [], []
        for block in self.blocks:
            x, look, memory = block.attend(x, places, seen=seen)
            x = block.think(x)
            looks.append(look)
            memories.append(memory)
        return looks, memories, x

    def _embed(self, tokens: Int[Tensor, "row time"], places: Places) -> Float[Tensor, "row time size"]:
        return dropout(places.added(self.embedding(tokens) * self.size**0.5), self.dropout, self.training)

    def logits(self, r: Float[Tensor, "*rows size"]) -> Float[Tensor, "*rows vocab"]:
        return linear(r, self.embedding.weight)

    def read(self, beginnings: Sequences) -> Begun:
        lengths = begun(beginnings).lengths.to(beginnings.values.device)
        _, memories, _ = self._through(beginnings.values[:, :-1])
        keys = [one.keys.transpose(1, 2).flatten(2) for one in memories]
        values = [one.values.transpose(1, 2).flatten(2) for one in memories]
        mask = beginnings.mask[:, 1:]  # all but the last of each: as many, counted from the first
        last = beginnings.values.gather(1, lengths[:, None] - 1).squeeze(1)
        summary = keys[0].new_zeros(len(lengths), 1)  # nothing sums it up
        return Begun(
            torch.cat(keys, -1), torch.cat(values, -1), mask, summary, last=last, max_length=beginnings.values.shape[1]
        )

    def start(self, memory: Memory) -> TransformerLanguageState:
        assert isinstance(memory, Begun)
        assert memory.mask is not None
        assert memory.last is not None
        heads = self.looking(self.blocks[0]).heads
        assert heads is not None

        def apart(every: Tensor) -> tuple[Tensor, ...]:
            """[batch, time, layer · head · width], the width being the score's own, as a layer each."""
            sizes = len(self.blocks), heads.heads, every.shape[-1] // (len(self.blocks) * heads.heads)
            return every.reshape(*every.shape[:2], *sizes).permute(2, 0, 3, 1, 4).unsqueeze(2).unbind()

        place = memory.mask.sum(-1, keepdim=True)
        there, last = memory.mask.unsqueeze(1), memory.last.unsqueeze(1)
        return TransformerLanguageState(apart(memory.keys), apart(memory.values), there, place, last, memory.max_length)

    def step(
        self, state: TransformerLanguageState, token: Int[Tensor, "batch beam"]
    ) -> tuple[TransformerLanguageState, Look, Float[Tensor, "batch beam vocab"]]:
        shape, token = token.shape, token if state.last is None else state.last
        places = self.positions.at(state.place.reshape(-1, 1), state.end)
        x = self._embed(token.reshape(-1, 1), places)
        there = torch.cat([state.there, state.there.new_ones(*shape, 1)], dim=-1)
        seen = there.reshape(-1, 1, there.shape[-1])
        looks, keys, values = [], [], []
        for layer, block in enumerate(self.blocks):
            x, look, read = block.attend(x, places, seen=seen, past=state.past(layer))
            x = block.think(x)
            looks.append(look)
            keys.append(read.keys.unflatten(0, shape))
            values.append(read.values.unflatten(0, shape))
        shown, r = self.shown(looks), self.norm(x).reshape(*shape, self.size)

        def weights() -> Tensor:  # [row, head, 1, key] → [batch, head, beam, key]
            each = shown.by_key.squeeze(-2)
            return each.reshape(*shape, *each.shape[1:]).movedim(1, -2)

        after = TransformerLanguageState(tuple(keys), tuple(values), there, state.place + 1, None, state.end + 1)
        return after, Look(r, weights), self.logits(r)
