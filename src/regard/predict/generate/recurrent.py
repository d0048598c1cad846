"""Recurrent decoder with attention before its step (Bahdanau) or after it (Luong).

before   c_j = attend(s_{j−1}),  s_j = R(s_{j−1}, [t̂_j; c_j]),  r_j = tanh(W[s_j; c_j; t̂_j])
         Bahdanau, Cho & Bengio 2014, appendix A.2.2 (its maxout is a tanh here).
after    s_j = R(s_{j−1}, [t̂_j; r_{j−1}]),  c_j = attend(s_j),  r_j = tanh(W[c_j; s_j])
         Luong, Pham & Manning 2015, section 3; without `feed` the step does not see r_{j−1}, and known
         tokens are read in one call with all their looks at once.

The next token has logits `E r_j + b`, E being the embeddings themselves where they are tied (Press & Wolf 2017, "Using
the Output Embedding to Improve Language Models"). The first state is bridged from the encoder's summary: `s_0 = tanh(W
summary + b)`.

Three options are those of Xu et al. 2015, "Show, Attend and Tell", section 3.1.2, whose decoder is an LSTM with
attention before its step:

    gate=true         β_j = σ(w s + b) of the state that asks, and c_j becomes β_j c_j
    output=deep       r_j = t̂_j + L[s_j; c_j], linear
    init_cell=true    the LSTM's first cell too is bridged from the summary; else it is 0

`mixture=8` predicts from each of the eight most attended positions alone and mixes the predictions: hard attention by
exact marginal likelihood (see `regard.predict.mixture`). Its logits are log-probabilities.

    decoder = Recurrent(vocab=8000, memory=1024, summary=1024, attention=partial(make, score="additive"))
    state, look, logits = decoder.step(decoder.start(memory), token)
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout as drop
from torch.nn.functional import linear

from regard.attend.attention import Attention
from regard.attend.normalizer.sample import Sample
from regard.attend.normalizer.softmax import Softmax
from regard.errors import RegardError
from regard.kernels.cells import CELLS
from regard.predict.generate import Decoder
from regard.predict.mixture import mixed
from regard.predict.shared import Shared
from regard.ranges import Depth, Dropout, FewOrNone, Probability, Width, ranged
from regard.types import Beams, Look, Memory

__all__ = ["Recurrent", "RecurrentState", "Speaks", "in_kind", "whole"]

STEADY = (Softmax, Sample)  # normalizers that leave everything on the GPU


def elman(x: Tensor, h: Tensor) -> Tensor:
    """One step from what input and state say to its one gate."""
    return torch.tanh(x + h)


def gru(x: Tensor, h: Tensor, state: Tensor) -> Tensor:
    """One step from what input and state say to the three gates (reset, update, new)."""
    if x.is_cuda:
        return torch.ops.aten._thnn_fused_gru_cell(x, h, state, None, None)[0]  # type: ignore[no-any-return]
    (r_x, z_x, n_x), (r_h, z_h, n_h) = x.chunk(3, 1), h.chunk(3, 1)
    n = torch.tanh(n_x + torch.sigmoid(r_x + r_h) * n_h)
    return torch.lerp(n, state, torch.sigmoid(z_x + z_h))


def lstm(x: Tensor, h: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """One step from what input and state say to the four gates (input, forget, new, output)."""
    if x.is_cuda:
        return torch.ops.aten._thnn_fused_lstm_cell(x, h, cell, None, None)[:2]  # type: ignore[no-any-return]
    i, f, new, o = (x + h).chunk(4, 1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(new)
    return torch.sigmoid(o) * torch.tanh(cell), cell


@dataclass(frozen=True)
class RecurrentState(Beams):
    """One hidden vector (and one LSTM cell) a layer, the readout to feed, attention's own state, the memory."""

    hidden: tuple[Float[Tensor, "batch beam hidden"], ...]
    cell: tuple[Float[Tensor, "batch beam hidden"], ...]
    fed: Float[Tensor, "batch beam readout"] | None
    looked: Any
    memory: Memory


def whole(memory: Memory) -> AbstractContextManager[Any]:
    """Steps are small and wait for each other: casting to half precision and back would cost more than it saves."""
    kind = memory.keys.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


def in_kind(memory: Memory, kind: torch.dtype) -> Memory:
    """The memory in a decoder's own precision: an encoder under autocast gives less."""
    assert memory.summary is not None
    keys = memory.keys.to(kind)
    values = keys if memory.values is memory.keys else memory.values.to(kind)
    return replace(memory, keys=keys, values=values, summary=memory.summary.to(kind))


class Speaks(Decoder):
    """A decoder that reads embeddings and says `E r + b`; E are the embeddings where they are tied."""

    @ranged
    def __init__(self, vocab: int, embed: int, readout: int, tie: bool, dropout: Probability) -> None:
        super().__init__()
        self.dropout = dropout
        self.embedding = nn.Embedding(vocab, embed)
        nn.init.normal_(self.embedding.weight, std=embed**-0.5)
        self.out = None if tie else nn.Linear(readout, vocab)
        self.tied_bias = nn.Parameter(torch.zeros(vocab)) if tie else None

    def _embed(self, tokens: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape embed"]:
        return drop(self.embedding(tokens), self.dropout, self.training)

    def _logits(self, r: Float[Tensor, "*shape readout"]) -> Float[Tensor, "*shape vocab"]:
        r = drop(r, self.dropout, self.training)
        if self.out is not None:
            return self.out(r)  # type: ignore[no-any-return]
        return linear(r, self.embedding.weight, self.tied_bias)


class Recurrent(Speaks):
    """GRU, LSTM or Elman decoder that attends to the source once per token."""

    def __init__(
        self,
        vocab: int,
        memory: int,
        summary: int,
        attention: Callable[..., Attention],
        cell: Annotated[Literal["elman", "lstm", "gru"], "kind of recurrent cell"] = "gru",
        embed: Annotated[Width, "size of the token embeddings"] = 256,
        hidden: Annotated[Width, "units of the hidden state"] = 256,
        layers: Annotated[Depth, "number of layers"] = 1,
        place: Annotated[
            Literal["before", "after"], "attend before the recurrent step (Bahdanau) or after it (Luong)"
        ] = "before",
        feed: Annotated[
            bool, "feed the attention vector into the next step (input feeding; only with place=after)"
        ] = True,
        gate: Annotated[bool, "scale the context by a gate computed from the hidden state"] = False,
        output: Annotated[
            Literal["tanh", "deep"],
            "tanh layer before the output layer, or the linear deep output of Show, Attend and Tell",
        ] = "tanh",
        init_cell: Annotated[bool, "compute the first LSTM cell from the encoder's summary; false starts at 0"] = False,
        tie: Annotated[bool, "share weights between the embeddings and the output layer"] = True,
        dropout: Annotated[Dropout, "dropout on the embeddings, between layers and before the output layer"] = 0.2,
        mixture: Annotated[
            FewOrNone,
            "predict from each of so many positions alone and mix the predictions (place=after feed=false); 0: do not",
        ] = 0,
    ) -> None:
        if mixture and (place == "before" or feed):
            raise RegardError(
                f"mixture={mixture} with place={place}, feed={str(feed).lower()}", expected="place=after and feed=false"
            )
        if init_cell and cell != "lstm":
            raise RegardError(f"init_cell with cell={cell}", expected="cell=lstm", do="remove init_cell")
        readout = embed if tie or output == "deep" else hidden
        super().__init__(vocab, embed, readout, tie, dropout)
        self.cell, self.place, self.output, self.mixture = cell, place, output, mixture
        self.feed = feed and place == "after"
        more = memory if place == "before" else readout if self.feed else 0
        between = dropout if layers > 1 else 0.0
        self.rnn = CELLS[cell](embed + more, hidden, layers, batch_first=True, dropout=between)
        self.attention = attention(query=hidden, key=memory, value=memory)
        if mixture and (self.attention.heads is not None or self.attention.score.features):
            raise RegardError(
                f"mixture={mixture} with several weights for a position", expected="attention with one head"
            )
        if mixture and not self.attention.normalizer.passes:
            raise RegardError(f"mixture={mixture} and a normalizer that picks one position", expected="softmax")
        self.bridge = nn.Linear(summary, layers * hidden)
        self.bridge_cell = nn.Linear(summary, layers * hidden) if init_cell else None
        self.gate = nn.Linear(hidden, 1) if gate else None
        reads_token = place == "before" and output == "tanh"
        self.readout = nn.Linear(hidden + memory + (embed if reads_token else 0), readout)

    @property
    def source_attention(self) -> Attention:
        return self.attention

    @property
    def parallel(self) -> bool:
        """Whether known tokens are read all at once."""
        return self.place == "after" and not self.feed and not self.attention.waits

    @property
    def steady(self) -> bool:
        return not self.parallel and not self.attention.stateful and isinstance(self.attention.normalizer, STEADY)

    @property
    def carries(self) -> bool:
        """What was seen goes into the next state, or the next look."""
        return not self.parallel

    def start(self, memory: Memory) -> RecurrentState:
        memory = in_kind(memory, self.bridge.weight.dtype)
        with whole(memory):
            layers = torch.tanh(self.bridge(memory.summary)).unsqueeze(1).chunk(self.rnn.num_layers, dim=-1)
            prepared = self.attention.prepare(memory.keys, memory.values, memory.mask)
            cells = self._first_cells(memory, layers)
        fed = layers[0].new_zeros(len(layers[0]), 1, self.readout.out_features) if self.feed else None
        return RecurrentState(layers, cells, fed, None, prepared)

    def _first_cells(self, memory: Memory, layers: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """An LSTM's, a layer each."""
        if self.cell != "lstm":
            return ()
        if self.bridge_cell is None:
            return tuple(torch.zeros_like(layer) for layer in layers)
        return torch.tanh(self.bridge_cell(memory.summary)).unsqueeze(1).chunk(len(layers), dim=-1)

    def step(
        self, state: RecurrentState, token: Int[Tensor, "batch beam"]
    ) -> tuple[RecurrentState, Look, Float[Tensor, "batch beam vocab"]]:
        with whole(state.memory):
            maps = self._maps()
            state, look, s = self._advance(state, embedded := self._embed(token), maps)
            return state, look, self._said(s, look, state, embedded, maps[-1])

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        embedded = self._embed(tokens)
        state = self.start(memory)
        if self.parallel:
            s = self._read_all(state, embedded)
            look = self._look(s, state.memory, self.attention.start(state.memory))
            return look, self._said(s, look, state, embedded, self.readout)
        looks, states, fed = [], [], []
        with whole(memory):
            maps = self._maps()
            for x in embedded.unsqueeze(2).unbind(1):
                state, look, s = self._advance(state, x, maps)
                looks.append(look)
                states.append(s)
                fed.append(state.fed)
        look = Look.join(looks)
        # What no later step waits for is done for all steps at once.
        if self.feed:
            return look, self._logits(torch.cat(fed, dim=1))  # type: ignore[arg-type]
        return look, self._said(torch.cat(states, dim=1), look, state, embedded, self.readout)

    def _said(
        self, s: Tensor, look: Look, state: RecurrentState, x: Tensor, readout: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch time vocab"]:
        """The logits after a look; log-probabilities where each position predicts by itself."""
        if state.fed is not None:
            return self._logits(state.fed)
        if not self.mixture:
            return self._logits(self._read(s, look.context, x, readout))

        def logits_of(context: Tensor) -> Tensor:
            return self._logits(self._read(s, self._gated(s, context), x, readout))

        return mixed(look.weights, state.memory.values, logits_of, self.mixture)

    def _maps(self) -> list[Shared]:
        """The linear maps of a step: two a layer (of input and of state), and last the readout."""
        layers = [Shared(*pair) for w_x, w_h, b_x, b_h in self.rnn.all_weights for pair in ((w_x, b_x), (w_h, b_h))]
        return [*layers, Shared(self.readout.weight, self.readout.bias)]

    def _advance(
        self, state: RecurrentState, x: Float[Tensor, "batch beam embed"], maps: list[Shared]
    ) -> tuple[RecurrentState, Look, Float[Tensor, "batch beam hidden"]]:
        """One step of the network and one look: the state after it, the look, and the top layer."""
        if self.place == "before":
            look = self._look(state.hidden[-1], state.memory, state.looked)
            hidden, cell = self._recur(state, torch.cat([x, look.context], dim=-1), maps)
            return RecurrentState(hidden, cell, None, look.state, state.memory), look, hidden[-1]
        hidden, cell = self._recur(state, x if state.fed is None else torch.cat([x, state.fed], dim=-1), maps)
        look = self._look(hidden[-1], state.memory, state.looked)
        fed = self._read(hidden[-1], look.context, x, maps[-1]) if self.feed else None
        return RecurrentState(hidden, cell, fed, look.state, state.memory), look, hidden[-1]

    def _look(self, query: Float[Tensor, "batch query hidden"], memory: Memory, state: Any) -> Look:
        """What attention answers, through the gate if there is one."""
        look: Look = self.attention(query, memory, state)
        return look if self.gate is None else replace(look, context=self._gated(query, look.context))

    def _gated(self, query: Tensor, context: Tensor) -> Tensor:
        return context if self.gate is None else torch.sigmoid(self.gate(query)) * context

    def _recur(
        self, state: RecurrentState, x: Tensor, maps: list[Shared]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """One step of every layer; the parameters are those that `_read_all` runs over a whole sequence."""
        shape, hidden, cell = x.shape[:2], [], []
        below = x.flatten(0, 1)
        for layer in range(self.rnn.num_layers):
            if layer:
                below = drop(below, self.rnn.dropout, self.training)
            before = state.hidden[layer].flatten(0, 1)
            of_input, of_state = maps[2 * layer](below), maps[2 * layer + 1](before)
            if self.cell == "gru":
                below = gru(of_input, of_state, before)
            elif self.cell == "lstm":
                below, c = lstm(of_input, of_state, state.cell[layer].flatten(0, 1))
                cell.append(c.reshape(*shape, -1))
            else:
                below = elman(of_input, of_state)
            hidden.append(below.reshape(*shape, -1))
        return tuple(hidden), tuple(cell)

    def _read_all(
        self, state: RecurrentState, embedded: Float[Tensor, "batch time embed"]
    ) -> Float[Tensor, "batch time hidden"]:
        first = torch.stack([layer.squeeze(1) for layer in state.hidden])
        cell = torch.stack([layer.squeeze(1) for layer in state.cell]) if state.cell else None
        states, _ = self.rnn(embedded, first if cell is None else (first, cell))
        return states  # type: ignore[no-any-return]

    def _read(
        self, s: Tensor, c: Tensor, x: Tensor, readout: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, "batch time readout"]:
        shape = *s.shape[:2], -1
        if self.output == "deep":
            return x + readout(torch.cat([s, c], dim=-1).flatten(0, 1)).reshape(shape)
        joined = torch.cat([s, c, x], dim=-1) if self.place == "before" else torch.cat([c, s], dim=-1)
        return torch.tanh(readout(joined.flatten(0, 1))).reshape(shape)
