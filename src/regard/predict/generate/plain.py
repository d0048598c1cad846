"""Plain decoder without attention: it gets the source as one vector c, the memory's summary.

    s_j = R(s_{j−1}, x_j),   r_j = tanh(W s_j + b),   logits = E r_j + b',   x_j = t̂_j and s_0 = 0 but for `context`:

start      s_0 = c in every layer, so the two must be of one size (Sutskever, Vinyals & Le 2014, section 2)
transform  s_0 = tanh(W_c c + b_c), each layer with a part of its own (Cho et al. 2014, appendix A)
every      x_j = [t̂_j; c] (Cho et al. 2014, section 2.2)
first      x_1 = [t̂_1; c], and [t̂_j; 0] after it: shown once, as Vinyals et al. 2015 show a picture (section 3.1; theirs
           is a step of its own)

An LSTM's cell begins as zeros. Known tokens are read in one call. A look has no keys, `[batch, query, 0]`: there is
nothing to show.

    decoder = Plain(vocab=8000, summary=1024, context="every")
    state, _, logits = decoder.step(decoder.start(memory), token)
"""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import RegardError
from regard.kernels.cells import CELLS
from regard.predict.generate.recurrent import Speaks, in_kind, whole
from regard.ranges import Depth, Dropout, Width
from regard.types import Beams, Look, Memory

__all__ = ["Plain", "PlainState"]


@dataclass(frozen=True)
class PlainState(Beams):
    """What the network carries on (hidden vectors, of an LSTM also cells), whether a token was read yet, the memory."""

    carried: tuple[Float[Tensor, "batch beam layer hidden"], ...]
    begun: bool
    memory: Memory


class Plain(Speaks):
    """GRU, LSTM or Elman decoder without attention: it gets the source as one vector"""

    def __init__(
        self,
        vocab: int,
        summary: int,
        context: Annotated[
            Literal["start", "transform", "every", "first"],
            "where the source vector goes: the first state (start, transform), every input or the first",
        ] = "every",
        cell: Annotated[Literal["elman", "lstm", "gru"], "kind of recurrent cell"] = "gru",
        embed: Annotated[Width, "size of the token embeddings"] = 256,
        hidden: Annotated[Width, "units of the hidden state"] = 256,
        layers: Annotated[Depth, "number of layers"] = 1,
        tie: Annotated[bool, "share weights between the embeddings and the output layer"] = True,
        dropout: Annotated[Dropout, "dropout on the embeddings, between layers and before the output layer"] = 0.2,
    ) -> None:
        readout = embed if tie else hidden
        super().__init__(vocab, embed, readout, tie, dropout)
        if context == "start" and summary != hidden:
            raise RegardError(
                f"context=start got a summary of size {summary} and hidden={hidden}",
                expected="the same size",
                do=f"set hidden={summary}, or use context=transform",
            )
        self.context, self.cell = context, cell
        between = dropout if layers > 1 else 0.0
        inputs = embed + (summary if context in ("every", "first") else 0)
        self.rnn = CELLS[cell](inputs, hidden, layers, batch_first=True, dropout=between)
        self.transform = nn.Linear(summary, layers * hidden) if context == "transform" else None
        self.readout = nn.Linear(hidden, readout)

    @property
    def parallel(self) -> bool:
        """Known tokens are read all at once."""
        return True

    def start(self, memory: Memory) -> PlainState:
        memory = in_kind(memory, self.readout.weight.dtype)
        assert memory.summary is not None
        c = memory.summary
        size = (len(c), 1, self.rnn.num_layers, self.rnn.hidden_size)
        if self.transform is not None:
            with whole(memory):
                hidden = torch.tanh(self.transform(c)).reshape(size)
        else:
            hidden = c[:, None, None].expand(size) if self.context == "start" else c.new_zeros(size)
        return PlainState((hidden, torch.zeros_like(hidden)) if self.cell == "lstm" else (hidden,), False, memory)

    def step(
        self, state: PlainState, token: Int[Tensor, "batch beam"]
    ) -> tuple[PlainState, Look, Float[Tensor, "batch beam vocab"]]:
        with whole(state.memory):
            state, s = self._read(state, self._embed(token.unsqueeze(-1)))
            r = torch.tanh(self.readout(s.squeeze(2)))
        return state, _nowhere(r), self._logits(r)

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        _, s = self._read(self.start(memory), self._embed(tokens.unsqueeze(1)))
        r = torch.tanh(self.readout(s.squeeze(1)))
        return _nowhere(r), self._logits(r)

    def _read(
        self, state: PlainState, x: Float[Tensor, "batch beam time embed"]
    ) -> tuple[PlainState, Float[Tensor, "batch beam time hidden"]]:
        """Each hypothesis some tokens further: the state after them, and the top layer at each."""
        shape = x.shape[:2]  # for PyTorch's networks each hypothesis is a row, and layers come before rows
        first = tuple(one.flatten(0, 1).transpose(0, 1).contiguous() for one in state.carried)
        s, last = self.rnn(self._shown(state, x).flatten(0, 1), first if self.cell == "lstm" else first[0])
        carried = tuple(one.transpose(0, 1).unflatten(0, shape) for one in (last if self.cell == "lstm" else (last,)))
        return PlainState(carried, True, state.memory), s.unflatten(0, shape)

    def _shown(
        self, state: PlainState, x: Float[Tensor, "batch beam time embed"]
    ) -> Float[Tensor, "batch beam time inputs"]:
        """The tokens as the network reads them: with the context beside each, or the first, or none."""
        if self.context not in ("every", "first"):
            return x
        assert state.memory.summary is not None
        c = state.memory.summary[:, None, None].expand(*x.shape[:3], -1)
        if self.context == "first":
            seen = 0 if state.begun else 1
            c = torch.cat([c[:, :, :seen], torch.zeros_like(c[:, :, seen:])], dim=2)
        return torch.cat([x, c], dim=-1)


def _nowhere(r: Float[Tensor, "batch query readout"]) -> Look:
    """A look at no keys: no answer, no weights."""
    nothing = r.detach()[..., :0]
    return Look(nothing, lambda: nothing)
