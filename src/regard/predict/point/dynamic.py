"""Dynamic pointing decoder: predicts start and end, reads what it pointed at, and predicts them again.

At each turn i, with the vectors u_s and u_e of the start and the end that the turn before settled on,

    h_i = LSTM(h_{i−1}, [u_s; u_e])
    s_i = argmax_t HMN_start(u_t, h_i, u_s, u_e),  e_i = argmax_t HMN_end(u_t, h_i, u_s, u_e)

and a highway maxout network scores every position t:

    r  = tanh(W_r [h_i; u_s; u_e])
    m₁ = max(W₁ [u_t; r] + b₁),  m₂ = max(W₂ m₁ + b₂),  score = max(W₃ [m₁; m₂] + b₃)

each maximum over `pool` alternatives. Xiong, Zhong & Socher 2016, "Dynamic Coattention Networks for Question
Answering", section 2.3. The first turn starts from the first and the last position. A row stops where neither the start
nor the end changes, or after `turns`; in training every turn is made, and all of them are counted.

The products with u_t in W₁ are the same at every turn, and computed once.

    found = Dynamic(inputs=400, hidden=200)(values, mask)
    found.start, found.path          # [batch, turn, time], [batch, turn, 2]
"""

from typing import Annotated

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import dropout

from regard.predict.point import Point, Pointed, hidden
from regard.ranges import Dropout, Few, Width
from regard.types import wide

__all__ = ["Dynamic", "HighwayMaxout"]


class HighwayMaxout(nn.Module):
    """`max(W₃ [m₁; m₂] + b₃)`, of every position."""

    def __init__(self, inputs: int, size: int, pool: int, share: float) -> None:
        super().__init__()
        self.size, self.pool, self.share = size, pool, share
        self.W_r = nn.Linear(size + 2 * inputs, size, bias=False)
        self.W_1u = nn.Linear(inputs, pool * size)
        self.W_1r = nn.Linear(size, pool * size, bias=False)
        self.W_2 = nn.Linear(size, pool * size)
        self.W_3 = nn.Linear(2 * size, pool)

    def _most(self, alternatives: Float[Tensor, "*lead wide"]) -> Float[Tensor, "*lead size"]:
        each = alternatives.reshape(*alternatives.shape[:-1], self.pool, -1)
        # For gradients `max` keeps one number per maximum, and `amax` all alternatives; without them `amax` is faster.
        return each.max(-2).values if each.requires_grad else each.amax(-2)

    def forward(
        self,
        prepared: Float[Tensor, "batch time wide"],
        h: Float[Tensor, "batch size"],
        u_s: Float[Tensor, "batch inputs"],
        u_e: Float[Tensor, "batch inputs"],
    ) -> Float[Tensor, "batch time"]:
        """`prepared` is `W_1u` of every position."""
        r = torch.tanh(self.W_r(torch.cat([h, u_s, u_e], -1)))
        m_1 = self._most(prepared + self.W_1r(r).unsqueeze(1))
        m_1 = dropout(m_1, self.share, self.training)
        m_2 = self._most(self.W_2(m_1))
        m_2 = dropout(m_2, self.share, self.training)
        both = wide(torch.cat([m_1, m_2], -1))
        with torch.autocast(both.device.type, enabled=False):  # the scores themselves in full precision
            return self._most(self.W_3(both)).squeeze(-1)


class Dynamic(Point):
    """Iterative pointer: predicts start and end again, given its last prediction"""

    def __init__(
        self,
        inputs: int,
        hidden: Annotated[Width, "units of the decoder's state and of the maxout layers"] = 200,
        pool: Annotated[Few, "linear pieces of each maxout layer"] = 16,
        turns: Annotated[Few, "largest number of iterations"] = 4,
        dropout: Annotated[Dropout, "dropout after each maxout layer"] = 0.0,
    ) -> None:
        super().__init__()
        self.turns = turns
        self.lstm = nn.LSTMCell(2 * inputs, hidden)
        self.start, self.end = (HighwayMaxout(inputs, hidden, pool, dropout) for _ in range(2))

    def forward(self, values: Float[Tensor, "batch time inputs"], mask: Bool[Tensor, "batch time"]) -> Pointed:
        values = values.masked_fill(~mask.unsqueeze(-1), 0.0)
        of_start, of_end = self.start.W_1u(values), self.end.W_1u(values)
        s = mask.long().argmax(1)
        e = (mask.shape[1] - 1 - mask.flip(1).long().argmax(1)).clamp(min=0)
        state = (wide(values).new_zeros(len(values), self.lstm.hidden_size),) * 2
        stopped = torch.zeros_like(s, dtype=torch.bool)
        u_s, u_e = _at(values, s), _at(values, e)
        starts: list[Tensor] = []
        ends: list[Tensor] = []
        path: list[Tensor] = []
        for _ in range(self.turns):
            state = self.lstm(torch.cat([u_s, u_e], -1), state)
            start = hidden(self.start(of_start, state[0], u_s, u_e), mask)
            end = hidden(self.end(of_end, state[0], u_s, u_e), mask)
            if starts and not self.training:
                start, end = (
                    torch.where(stopped.unsqueeze(1), *pair) for pair in ((starts[-1], start), (ends[-1], end))
                )
            new_s, new_e = start.argmax(1), end.argmax(1)
            u_s, u_e = _at(values, new_s), _at(values, new_e)
            if not self.training:
                stopped = stopped | ((new_s == s) & (new_e == e))
            s, e = new_s, new_e
            starts.append(start)
            ends.append(end)
            path.append(torch.stack([s, e], -1))
        return Pointed(torch.stack(starts, 1), torch.stack(ends, 1), torch.stack(path, 1))


def _at(values: Float[Tensor, "batch time size"], places: Int[Tensor, " batch"]) -> Float[Tensor, "batch size"]:
    return values.gather(1, places.reshape(-1, 1, 1).expand(-1, 1, values.shape[-1])).squeeze(1)
