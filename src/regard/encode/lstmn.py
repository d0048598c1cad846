"""LSTMN: an LSTM that keeps all its earlier states and attends to them before each step.

    a_i = vᵀ tanh(W_h h_i + W_x x_t + W_h̃ h̃_{t−1}),   s = softmax(a),   [h̃_t; c̃_t] = Σ_{i<t} s_i [h_i; c_i]
    [i; f; o; ĉ] = W [h̃_t; x_t] + b,   c_t = σ(f) ⊙ c̃_t + σ(i) ⊙ tanh(ĉ),   h_t = σ(o) ⊙ tanh(c_t)

Cheng, Dong & Lapata 2016, "Long Short-Term Memory-Networks for Machine Reading", section 3. Only h, never c, enters
the scores. For the first token h̃, c̃ and its row of weights are zeros. It is unidirectional; the mean of all h is its
sentence vector. Time and memory are quadratic in the length.

    Lstmn(inputs=300)(sequences).looks[0][1].weights     # [batch, t, i], i < t
"""

from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import dropout, pad

from regard.attend.score.additive import additive
from regard.encode import Encoder
from regard.find import Spec
from regard.ranges import Dropout, Width
from regard.types import Look, Memory, Sequences

__all__ = ["Lstmn"]


class Lstmn(Encoder):
    """An LSTM that attends to its own earlier states"""

    pool: ClassVar[Spec] = "mean"

    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "units of the hidden state"] = 300,
        dropout: Annotated[Dropout, "dropout on the input vectors"] = 0.0,
    ) -> None:
        super().__init__()
        self.W_h = nn.Linear(hidden, hidden, bias=False)
        self.W_x = nn.Linear(inputs, hidden, bias=False)
        self.W_h_tilde = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Parameter(torch.empty(hidden).uniform_(-(hidden**-0.5), hidden**-0.5))
        # The gates' W in its two parts, so that the part of x is worked out for all steps at once.
        self.gates_x = nn.Linear(inputs, 4 * hidden)  # carries b
        self.gates_h = nn.Linear(hidden, 4 * hidden, bias=False)
        self.dropout = dropout
        self.size = self.summary = hidden

    def forward(self, inputs: Sequences) -> Memory:
        mask = inputs.mask
        there = mask.unsqueeze(-1)
        x = dropout(inputs.values.masked_fill(~there, 0.0), self.dropout, self.training)
        h, h_tilde, s = self._read(x)
        # Padding stands at the end and is read last, so no state before it knows of it.
        h, h_tilde = h.masked_fill(~there, 0.0), h_tilde.masked_fill(~there, 0.0)
        look = Look(h_tilde, lambda: _triangle(s, mask, h.dtype))
        last = torch.arange(mask.shape[1], device=mask.device) == mask.sum(-1, keepdim=True) - 1
        summary = h.masked_fill(~last.unsqueeze(-1), 0.0).sum(1)
        return Memory(h, h, mask, summary, looks=(("intra-attention", look),))

    def _read(
        self, x: Float[Tensor, "batch time inputs"]
    ) -> tuple[Float[Tensor, "batch time hidden"], Float[Tensor, "batch time hidden"], list[Tensor]]:
        """All h and h̃, and the weights s of each step but the first, `[batch, 1, t]`."""
        asked, gates = self.W_x(x), self.gates_x(x)
        h_tilde = c_tilde = gates.new_zeros(len(x), self.size)
        tape, keys = gates[:, :0, : 2 * self.size], asked[:, :0]  # nothing yet
        attended, weights = [], []
        for t in range(x.shape[1]):
            if t:
                q = asked[:, t] + self.W_h_tilde(h_tilde)
                s = torch.softmax(additive(q.unsqueeze(1), keys, self.v), -1)
                h_tilde, c_tilde = (s @ tape).squeeze(1).chunk(2, -1)
                weights.append(s)
            i, f, o, c_hat = (gates[:, t] + self.gates_h(h_tilde)).chunk(4, -1)
            c = torch.sigmoid(f) * c_tilde + torch.sigmoid(i) * torch.tanh(c_hat)
            h = torch.sigmoid(o) * torch.tanh(c)
            attended.append(h_tilde)
            # The tapes grow by one piece: stacking all pieces anew would send t gradients back at every step.
            tape = torch.cat([tape, torch.cat([h, c], -1).unsqueeze(1)], 1)
            keys = torch.cat([keys, self.W_h(h).unsqueeze(1)], 1)
        states = tape[..., : self.size]
        return states, torch.stack(attended, 1) if attended else states, weights


def _triangle(
    s: list[Tensor], mask: Bool[Tensor, "batch time"], dtype: torch.dtype
) -> Float[Tensor, "batch time time"]:
    """The weights of all steps as one square, zeros where there is nothing to see."""
    square = torch.zeros(*mask.shape, mask.shape[1], dtype=dtype, device=mask.device)
    if s:
        rows = torch.cat([pad(one, (0, mask.shape[1] - one.shape[-1])) for one in s], 1)
        square = torch.cat([square[:, :1], rows.to(dtype)], 1)
    return square.masked_fill(~mask.unsqueeze(-1), 0.0)
