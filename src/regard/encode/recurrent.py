"""Recurrent: a state that reads one vector after another, forwards, or both ways and joined.

Elman `s_i = tanh(W_s s_{i−1} + W_x x_i + b)` (Elman 1990), LSTM (Hochreiter & Schmidhuber 1997) or GRU
(Cho et al. 2014). Both ways (Schuster & Paliwal 1997): `h_i = [→h_i; ←h_i]`, so each state knows the
whole sequence around its word. Padding never enters a state: each sequence is read to its own length.

    Recurrent(inputs=256, cell="gru", hidden=512)(sequences).keys     # [batch, time, 1024]
"""

from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.encode import Encoder
from regard.errors import RegardError
from regard.kernels.cells import CELLS
from regard.ranges import Depth, Dropout, Width
from regard.types import Memory, Sequences

__all__ = ["Recurrent"]


class Recurrent(Encoder):
    """An Elman, LSTM or GRU network over the whole sequence."""

    def __init__(
        self,
        inputs: int,
        cell: Annotated[Literal["elman", "lstm", "gru"], "kind of recurrent cell"] = "gru",
        hidden: Annotated[Width, "units of the hidden state in each direction"] = 256,
        layers: Annotated[Depth, "number of layers"] = 1,
        bidirectional: Annotated[bool, "read in both directions"] = True,
        dropout: Annotated[Dropout, "dropout between layers; with one layer it has no effect"] = 0.0,
    ) -> None:
        super().__init__()
        # Dropout stands between layers, so with one layer there is no place for it.
        between = dropout if layers > 1 else 0.0
        self.rnn = CELLS[cell](inputs, hidden, layers, batch_first=True, bidirectional=bidirectional, dropout=between)
        self.bidirectional = bidirectional
        self.size = self.summary = hidden * (2 if bidirectional else 1)

    def forward(self, inputs: Sequences) -> Memory:
        # An empty sequence is read as one step of padding, and what that gives is zeroed below.
        lengths = inputs.lengths.clamp(min=1)
        time = inputs.values.shape[1]
        values = inputs.values if time else pad(inputs.values, (0, 0, 0, 1))  # all empty: room for that one step
        packed = pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
        out, final = self.rnn(packed)
        states = pad_packed_sequence(out, batch_first=True, total_length=values.shape[1])[0][:, :time]
        last = final[0] if isinstance(final, tuple) else final  # an LSTM also gives its cell
        summary = torch.cat([last[-2], last[-1]], dim=-1) if self.bidirectional else last[-1]
        if bool((inputs.lengths == 0).any()):
            states = states.masked_fill(~inputs.mask.unsqueeze(-1), 0.0)
            summary = summary.masked_fill(~inputs.mask.any(-1, keepdim=True), 0.0)
        return Memory(states, states, inputs.mask, summary)

    def follow(
        self, values: Float[Tensor, "batch time inputs"], state: Any = None
    ) -> tuple[Float[Tensor, "batch time size"], Any]:
        """Read on from a state (None: the beginning), for a stream that is read as it arrives; one way only."""
        if self.bidirectional:
            raise RegardError("an encoder that reads from both ends", expected="a one-way one", do="use encoder=lstm")
        states, state = self.rnn(values, state)
        return states, state
