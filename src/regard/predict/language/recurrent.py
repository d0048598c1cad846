"""Recurrent language model (LSTM, GRU or Elman), with optional attention over its earlier states.

    h_t = R(h_{t−1}, E x_t)        R: `layers` of LSTM, GRU or Elman
    logits = E h_t + b             the embeddings E are tied to the output layer

Hochreiter & Schmidhuber 1997, "Long Short-Term Memory"; Press & Wolf 2017, "Using the Output Embedding to Improve
Language Models".

Zaremba, Sutskever & Vinyals 2014, "Recurrent Neural Network Regularization": dropout on the input and output of each
layer, never on the recurrent connections. One mask is shared by all time steps of a sequence (Gal & Ghahramani 2016, "A
Theoretically Grounded Application of Dropout in Recurrent Neural Networks"). Two further kinds of dropout are off by
default. Both are from Merity, Keskar & Socher 2017, "Regularizing and Optimizing LSTM Language Models", sections 2 and
4.3: `weight_dropout` masks the hidden-to-hidden weights, one mask per batch; `embedding_dropout` masks whole words,
everywhere in the batch.

With `attention`, each step also attends to all states so far, its own included, and the logits come from

    r_t = tanh(W [c_t; h_t]),   c_t = attend(h_t; h_1 … h_t)

Daniluk et al. 2017, "Frustratingly Short Attention Spans in Neural Language Modeling", section 2.

    Recurrent(vocab=10_000, attention=None)(batch)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import dropout, embedding, linear
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.attend.attention import make
from regard.attend.mask import causal
from regard.errors import RegardError
from regard.find import call
from regard.kernels.cells import CELLS
from regard.predict.language import LanguageModel, begun
from regard.ranges import Depth, Dropout, Width, ranged
from regard.types import Beams, Look, Memory, Sequences

__all__ = ["Recurrent", "RecurrentLanguageState", "locked"]


@dataclass(frozen=True)
class RecurrentLanguageState(Beams):
    """One hidden vector (and one LSTM cell) per layer, and the earlier states that attention can see."""

    hidden: tuple[Float[Tensor, "batch beam hidden"], ...]
    cell: tuple[Float[Tensor, "batch beam hidden"], ...]
    past: Float[Tensor, "batch beam time hidden"] | None
    there: Bool[Tensor, "batch beam time"] | None  # false for padding
    fresh: bool  # no step was taken yet


def locked(x: Float[Tensor, "batch time size"], rate: float, training: bool) -> Float[Tensor, "batch time size"]:
    """Dropout with one mask for all time steps of a sequence."""
    if not training or not rate:
        return x
    return x * dropout(x.new_ones(len(x), 1, x.shape[-1]), rate)


class Recurrent(LanguageModel):
    """LSTM, GRU or Elman language model, with or without attention."""

    @ranged
    def __init__(
        self,
        vocab: int,
        attention: Mapping[str, Any] | None,
        cell: Annotated[Literal["elman", "lstm", "gru"], "kind of recurrent cell"] = "lstm",
        hidden: Annotated[Width, "units of the hidden state and size of the embeddings"] = 800,
        layers: Annotated[Depth, "number of layers"] = 2,
        input_dropout: Annotated[Dropout, "dropout on the embeddings, one mask for all time steps"] = 0.5,
        hidden_dropout: Annotated[Dropout, "dropout between layers, one mask for all time steps"] = 0.4,
        output_dropout: Annotated[Dropout, "dropout before the output layer, one mask for all time steps"] = 0.5,
        weight_dropout: Annotated[
            Dropout, "dropout on the hidden-to-hidden weights (DropConnect), one mask per batch"
        ] = 0.0,
        embedding_dropout: Annotated[Dropout, "probability of zeroing a word's embedding throughout a batch"] = 0.0,
    ) -> None:
        super().__init__(vocab, attention)
        self.cell, self.input_dropout, self.hidden_dropout, self.output_dropout = (
            cell,
            input_dropout,
            hidden_dropout,
            output_dropout,
        )
        self.weight_dropout, self.embedding_dropout = weight_dropout, embedding_dropout
        self.embedding = nn.Embedding(vocab, hidden)
        nn.init.normal_(self.embedding.weight, std=hidden**-0.5)
        # One module per layer: cuDNN's own dropout between layers would draw a new mask at every step.
        self.rnn = nn.ModuleList(CELLS[cell](hidden, hidden, batch_first=True) for _ in range(layers))
        self.bias = nn.Parameter(torch.zeros(vocab))
        sizes = {"query": hidden, "key": hidden, "value": hidden}
        self.attention = None if attention is None else call(make, dict(attention), **sizes)
        if self.attention is not None and self.attention.stateful:
            raise RegardError(
                "an attention score that keeps state between steps", expected="one without state, for a language model"
            )
        self.readout = None if attention is None else nn.Linear(2 * hidden, hidden)

    @property
    def looks(self) -> bool:  # type: ignore[override]
        return self.attention is not None

    @property
    def carries(self) -> bool:  # type: ignore[override]
        return self.attention is None

    @property
    def wide(self) -> bool:
        """An LSTM cell accumulates over hundreds of steps: half precision would lose small terms."""
        return False

    def states(self, tokens: Int[Tensor, "batch time"]) -> tuple[Look | None, Float[Tensor, "batch time hidden"]]:
        h, look = locked(self._words(tokens), self.input_dropout, self.training), None
        for number, layer in enumerate(self.rnn):
            h = self._through(layer, locked(h, self.hidden_dropout, self.training) if number else h)
        if self.attention is not None:
            seen = causal(tokens.shape[1], tokens.shape[1], h.device)
            look = self.attention(h, self.attention.prepare(h), mask=seen.unsqueeze(0))
            h = self._read(look, h)
        return look, locked(h, self.output_dropout, self.training)

    def _words(self, tokens: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time hidden"]:
        if not self.training or not self.embedding_dropout:
            return self.embedding(tokens)  # type: ignore[no-any-return]
        E = self.embedding.weight
        return embedding(tokens, E * dropout(E.new_ones(len(E), 1), self.embedding_dropout))

    def _through(self, layer: nn.Module, x: Float[Tensor, "batch time size"]) -> Float[Tensor, "batch time hidden"]:
        """The states of one layer, with dropout on its hidden-to-hidden weights."""
        if not self.training or not self.weight_dropout:
            return layer(x)[0]  # type: ignore[no-any-return]
        dropped = {"weight_hh_l0": dropout(layer.get_parameter("weight_hh_l0"), self.weight_dropout)}
        return functional_call(layer, dropped, (x,))[0]  # type: ignore[no-any-return]

    def logits(self, r: Float[Tensor, "*rows hidden"]) -> Float[Tensor, "*rows vocab"]:
        return linear(r, self.embedding.weight, self.bias)

    def read(self, beginnings: Sequences) -> Memory:
        """Reads the prompts: their states as memory, and the state after the last token as `summary`."""
        lengths = begun(beginnings).lengths
        packed = pack_padded_sequence(
            self.embedding(beginnings.values), lengths, batch_first=True, enforce_sorted=False
        )
        last: list[Tensor] = []
        for layer in self.rnn:
            packed, final = layer(packed)
            last += final if isinstance(final, tuple) else (final,)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=beginnings.values.shape[1])
        return Memory(states, states, beginnings.mask, torch.cat(last, dim=-1).squeeze(0))

    def start(self, memory: Memory) -> RecurrentLanguageState:
        assert memory.summary is not None
        parts = memory.summary.unsqueeze(1).chunk(len(self.rnn) * (2 if self.cell == "lstm" else 1), dim=-1)
        hidden, cell = (parts[::2], parts[1::2]) if self.cell == "lstm" else (parts, ())
        if self.attention is None:
            return RecurrentLanguageState(hidden, cell, None, None, fresh=True)
        past = memory.keys.unsqueeze(1)
        there = torch.ones_like(past[..., 0], dtype=torch.bool) if memory.mask is None else memory.mask.unsqueeze(1)
        return RecurrentLanguageState(hidden, cell, past, there, fresh=True)

    def step(
        self, state: RecurrentLanguageState, token: Int[Tensor, "batch beam"]
    ) -> tuple[RecurrentLanguageState, Look, Float[Tensor, "batch beam vocab"]]:
        state = replace(state, fresh=False) if state.fresh else self._on(state, token)
        h = state.hidden[-1]
        if self.attention is None or state.past is None or state.there is None:
            return state, Look(h, compute_weights=lambda: h.new_zeros(*token.shape, 0)), self.logits(h)
        # Each hypothesis has its own past, so each becomes its own row.
        query = h.reshape(token.numel(), 1, -1)
        memory = self.attention.prepare(state.past.flatten(0, 1), None, state.there.flatten(0, 1))
        look: Look = self.attention(query, memory)
        r = self._read(look, query).reshape(h.shape)

        def weights() -> Tensor:  # [row, (head,) 1, key] → [batch, (head,) beam, key]
            each = look.by_key.squeeze(-2)
            return each.reshape(*token.shape, *each.shape[1:]).movedim(1, -2)

        return state, Look(r, weights), self.logits(r)

    def _on(self, state: RecurrentLanguageState, token: Int[Tensor, "batch beam"]) -> RecurrentLanguageState:
        """The state after one more token."""
        shape, x = (*token.shape, -1), self.embedding(token).reshape(token.numel(), 1, -1)
        hidden, cell = [], []
        for number, layer in enumerate(self.rnn):
            h = state.hidden[number].flatten(0, 1).unsqueeze(0).contiguous()
            if self.cell == "lstm":
                c = state.cell[number].flatten(0, 1).unsqueeze(0).contiguous()
                x, (_, c) = layer(x, (h, c))
                cell.append(c.reshape(shape))
            else:
                x, _ = layer(x, h)
            hidden.append(x.reshape(shape))
        past, there = state.past, state.there
        if past is not None and there is not None:
            past = torch.cat([past, hidden[-1].unsqueeze(2)], dim=2)
            there = torch.cat([there, torch.ones_like(there[..., :1])], dim=2)
        return RecurrentLanguageState(tuple(hidden), tuple(cell), past, there, False)

    def _read(self, look: Look, h: Float[Tensor, "row time hidden"]) -> Float[Tensor, "row time hidden"]:
        assert self.readout is not None
        return torch.tanh(self.readout(torch.cat([look.context, h], dim=-1)))
