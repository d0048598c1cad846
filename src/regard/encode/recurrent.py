"""Recurrent encoder: GRU, LSTM or Elman, unidirectional or bidirectional.

Elman `s_i = tanh(W_s s_{i−1} + W_x x_i + b)` (Elman 1990, "Finding Structure in Time"), LSTM (Hochreiter & Schmidhuber
1997, "Long Short-Term Memory") or GRU (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder–Decoder for
Statistical Machine Translation"). Bidirectional (Schuster & Paliwal 1997, "Bidirectional Recurrent Neural Networks"):
`h_i = [→h_i; ←h_i]`, so each state depends on the whole sequence. Padding never enters a state: each sequence is read
to its own length.

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
    """GRU, LSTM or Elman network, bidirectional by default."""

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
        """Continues from a state (None: the start), for streams; unidirectional only."""
        if self.bidirectional:
            raise RegardError("a bidirectional encoder", expected="a unidirectional one", do="use encoder=lstm")
        states, state = self.rnn(values, state)
        return states, state
