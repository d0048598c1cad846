"""Recurrent decoder with attention before its step (Bahdanau) or after it (Luong).

before   c_j = attend(s_{j−1}),  s_j = R(s_{j−1}, [t̂_j; c_j]),  r_j = tanh(W[s_j; c_j; t̂_j])
         Bahdanau, Cho & Bengio 2014, appendix A.2.2 (its maxout is a tanh here).
after    s_j = R(s_{j−1}, [t̂_j; r_{j−1}]),  c_j = attend(s_j),  r_j = tanh(W[c_j; s_j])
         Luong, Pham & Manning 2015, section 3; without `feed` the step does not see r_{j−1}, and known
         tokens are read in one call with all their looks at once.

The next token has logits `E r_j + b`, E being the embeddings themselves where they are tied (Press &
Wolf 2017). The first state is bridged from the encoder's summary: `s_0 = tanh(W summary + b)`.

    decoder = Recurrent(vocab=8000, memory=1024, summary=1024, attention=partial(make, score="additive"))
    state, look, logits = decoder.step(decoder.start(memory), token)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout as drop
from torch.nn.functional import linear

from regard.attend.attention import Attention
from regard.predict.generate import Decoder
from regard.types import Beams, Look, Memory

__all__ = ["Recurrent", "State"]

CELLS: dict[str, Callable[..., nn.RNNBase]] = {"elman": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
STEPS: dict[str, Callable[..., Any]] = {"elman": torch.rnn_tanh_cell, "lstm": torch.lstm_cell, "gru": torch.gru_cell}


@dataclass(frozen=True)
class State(Beams):
    """One hidden vector (and one LSTM cell) a layer, the readout to feed, attention's own state, the memory."""

    hidden: tuple[Float[Tensor, "batch beam hidden"], ...]
    cell: tuple[Float[Tensor, "batch beam hidden"], ...]
    fed: Float[Tensor, "batch beam readout"] | None
    looked: Any
    memory: Memory


def _whole(memory: Memory) -> torch.autocast:
    """Steps are small and wait for each other: casting to half precision and back would cost more than it saves."""
    return torch.autocast(memory.keys.device.type, enabled=False)


class Recurrent(Decoder):
    """An Elman, LSTM or GRU network that looks at the memory once a token."""

    def __init__(
        self,
        vocab: int,
        memory: int,
        summary: int,
        attention: Callable[..., Attention],
        cell: Literal["elman", "lstm", "gru"] = "gru",
        embed: int = 256,
        hidden: int = 256,
        layers: int = 1,
        place: Literal["before", "after"] = "before",
        feed: bool = True,
        tie: bool = True,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.cell, self.place, self.dropout = cell, place, dropout
        self.feed = feed and place == "after"
        readout = embed if tie else hidden
        more = memory if place == "before" else readout if self.feed else 0
        between = dropout if layers > 1 else 0.0
        self.embedding = nn.Embedding(vocab, embed)
        nn.init.normal_(self.embedding.weight, std=embed**-0.5)
        self.rnn = CELLS[cell](embed + more, hidden, layers, batch_first=True, dropout=between)
        self.attention = attention(query=hidden, key=memory, value=memory)
        self.bridge = nn.Linear(summary, layers * hidden)
        self.readout = nn.Linear(hidden + memory + (embed if place == "before" else 0), readout)
        self.out = None if tie else nn.Linear(readout, vocab)
        self.tied_bias = nn.Parameter(torch.zeros(vocab)) if tie else None

    def start(self, memory: Memory) -> State:
        assert memory.summary is not None
        kind = self.bridge.weight.dtype  # an encoder under autocast gives less
        keys, summary = memory.keys.to(kind), memory.summary.to(kind)
        values = keys if memory.values is memory.keys else memory.values.to(kind)
        with _whole(memory):
            layers = torch.tanh(self.bridge(summary)).unsqueeze(1).chunk(self.rnn.num_layers, dim=-1)
            prepared = self.attention.prepare(keys, values, memory.mask)
        zeros = tuple(torch.zeros_like(layer) for layer in layers) if self.cell == "lstm" else ()
        fed = layers[0].new_zeros(len(summary), 1, self.readout.out_features) if self.feed else None
        return State(layers, zeros, fed, None, prepared)

    def step(
        self, state: State, token: Int[Tensor, "batch beam"]
    ) -> tuple[State, Look, Float[Tensor, "batch beam vocab"]]:
        with _whole(state.memory):
            state, look, s = self._advance(state, embedded := self._embed(token))
            r = state.fed if state.fed is not None else self._read(s, look.answer, embedded)
        return state, look, self._logits(r)

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        embedded = self._embed(tokens)
        state = self.start(memory)
        if self.place == "after" and not self.feed and not self.attention.stateful:
            s = self._read_all(state, embedded)
            look = self.attention(s, state.memory)
            return look, self._logits(self._read(s, look.answer, embedded))
        looks, states, fed = [], [], []
        with _whole(memory):
            for x in embedded.unsqueeze(2).unbind(1):
                state, look, s = self._advance(state, x)
                looks.append(look)
                states.append(s)
                fed.append(state.fed)
        look = Look.join(looks)
        # What no later step waits for is done for all steps at once.
        r = torch.cat(fed, dim=1) if self.feed else self._read(torch.cat(states, dim=1), look.answer, embedded)  # type: ignore[arg-type]
        return look, self._logits(r)

    def _embed(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time embed"]:
        return drop(self.embedding(tokens), self.dropout, self.training)

    def _advance(
        self, state: State, x: Float[Tensor, "batch beam embed"]
    ) -> tuple[State, Look, Float[Tensor, "batch beam hidden"]]:
        """One step of the network and one look: the state after it, the look, and the top layer."""
        if self.place == "before":
            look = self.attention(state.hidden[-1], state.memory, state.looked)
            hidden, cell = self._recur(state, torch.cat([x, look.answer], dim=-1))
            return State(hidden, cell, None, look.state, state.memory), look, hidden[-1]
        hidden, cell = self._recur(state, x if state.fed is None else torch.cat([x, state.fed], dim=-1))
        look = self.attention(hidden[-1], state.memory, state.looked)
        fed = self._read(hidden[-1], look.answer, x) if self.feed else None
        return State(hidden, cell, fed, look.state, state.memory), look, hidden[-1]

    def _recur(self, state: State, x: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """One step of every layer; the parameters are those that `_read_all` runs over a whole sequence."""
        shape, hidden, cell = x.shape[:2], [], []
        below = x.flatten(0, 1)
        for layer, weights in enumerate(self.rnn.all_weights):
            if layer:
                below = drop(below, self.rnn.dropout, self.training)
            before: Any = state.hidden[layer].flatten(0, 1)
            if self.cell == "lstm":
                before = (before, state.cell[layer].flatten(0, 1))
            after = STEPS[self.cell](below, before, *weights)
            if self.cell == "lstm":
                after, c = after
                cell.append(c.unflatten(0, shape))
            below = after
            hidden.append(after.unflatten(0, shape))
        return tuple(hidden), tuple(cell)

    def _read_all(
        self, state: State, embedded: Float[Tensor, "batch time embed"]
    ) -> Float[Tensor, "batch time hidden"]:
        first = torch.stack([layer.squeeze(1) for layer in state.hidden])
        cell = torch.stack([layer.squeeze(1) for layer in state.cell]) if state.cell else None
        states, _ = self.rnn(embedded, first if cell is None else (first, cell))
        return states  # type: ignore[no-any-return]

    def _read(self, s: Tensor, c: Tensor, x: Tensor) -> Float[Tensor, "batch time readout"]:
        joined = torch.cat([s, c, x], dim=-1) if self.place == "before" else torch.cat([c, s], dim=-1)
        return torch.tanh(self.readout(joined))

    def _logits(self, r: Tensor) -> Float[Tensor, "batch time vocab"]:
        r = drop(r, self.dropout, self.training)
        if self.out is not None:
            return self.out(r)  # type: ignore[no-any-return]
        return linear(r, self.embedding.weight, self.tied_bias)
