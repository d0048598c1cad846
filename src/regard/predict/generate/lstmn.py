"""LSTMN decoder: an LSTM that attends to all its earlier states before each step, and to the source.

    a_i = vᵀ tanh(W_h h_i + W_x x_t + W_h̃ h̃_{t−1}),   s = softmax(a),   [h̃_t; c̃_t] = Σ_{i<t} s_i [h_i; c_i]
    [i; f; o; ĉ] = W [h̃_t; x_t] + b,   h_t = σ(o) ⊙ tanh(c_t)

shallow   c_t = σ(f) ⊙ c̃_t + σ(i) ⊙ tanh(ĉ);  the source is looked at above it: z_t = attend(h_t), logits of
          tanh(W_z [z_t; h_t]), as Luong, Pham & Manning 2015, section 3
deep      γ̃_t = attend([x_t; γ̃_{t−1}]),  r_t = σ(W_r [γ̃_t; x_t]),  c_t = r_t ⊙ α̃_t + σ(f) ⊙ c̃_t + σ(i) ⊙ tanh(ĉ);
          logits of tanh(W_z h_t): what was seen of the source reaches them by way of the tape alone

Cheng, Dong & Lapata 2016, "Long Short-Term Memory-Networks for Machine Reading", sections 3 and 4. Under an additive
score the deep attention's scores are the paper's, `uᵀ tanh(W_γ γ_j + W_x x_t + W_γ̃ γ̃_{t−1})`. The paper attends to
two tapes of the source, hidden states and memory cells; encoders here give one, so α̃_t is γ̃_t itself, or `W_α γ̃_t`
where the source's width is not this decoder's.

The tape begins with one state that was not read, `[h_0; c_0] = tanh(W_0 summary + b_0)`, so that the first step has
something behind it; h̃_0 and γ̃_0 are zeros. Every hypothesis has a tape of its own. The look is the one at the source.
Time and memory grow with the square of the length.

    decoder = Lstmn(vocab=8000, memory=512, summary=512, attention=partial(make, score="additive"), fusion="deep")
    state, look, logits = decoder.step(decoder.start(memory), token)
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attend.attention import Attention
from regard.attend.score.additive import additive
from regard.predict.generate.recurrent import Speaks, in_kind, whole
from regard.ranges import Dropout, Width
from regard.types import Beams, Look, Memory

__all__ = ["Lstmn", "LstmnState"]


@dataclass(frozen=True)
class LstmnState(Beams):
    """The tape `[h_i; c_i]` and its keys `W_h h_i`, what was last seen of it and (deep) of the source, attention's own
    state, the memory."""

    tape: Float[Tensor, "batch beam time both"]
    keys: Float[Tensor, "batch beam time hidden"]
    h_tilde: Float[Tensor, "batch beam hidden"]
    gamma_tilde: Float[Tensor, "batch beam value"] | None
    looked: Any
    memory: Memory


class Lstmn(Speaks):
    """LSTM that attends to all its earlier states, with shallow or deep fusion of the source."""

    def __init__(
        self,
        vocab: int,
        memory: int,
        summary: int,
        attention: Callable[..., Attention],
        fusion: Annotated[
            Literal["shallow", "deep"], "attend to the source above the LSTM (shallow) or inside its memory cell (deep)"
        ] = "shallow",
        embed: Annotated[Width, "size of the token embeddings"] = 256,
        hidden: Annotated[Width, "units of the hidden state"] = 256,
        tie: Annotated[bool, "share weights between the embeddings and the output layer"] = True,
        dropout: Annotated[Dropout, "dropout on the embeddings and before the output layer"] = 0.2,
    ) -> None:
        readout = embed if tie else hidden
        super().__init__(vocab, embed, readout, tie, dropout)
        self.hidden, self.fusion = hidden, fusion
        deep = fusion == "deep"
        self.W_h = nn.Linear(hidden, hidden, bias=False)
        self.W_x = nn.Linear(embed, hidden, bias=False)
        self.W_h_tilde = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Parameter(torch.empty(hidden).uniform_(-(hidden**-0.5), hidden**-0.5))
        # The gates' W in its two parts, so that the part of x is worked out for all known tokens at once.
        self.gates_x = nn.Linear(embed, 4 * hidden)  # carries b
        self.gates_h = nn.Linear(hidden, 4 * hidden, bias=False)
        self.attention = attention(query=embed + memory if deep else hidden, key=memory, value=memory)
        self.W_r = nn.Linear(memory + embed, hidden) if deep else None
        self.W_alpha = nn.Linear(memory, hidden, bias=False) if deep and memory != hidden else None
        self.W_0 = nn.Linear(summary, 2 * hidden)
        self.W_z = nn.Linear(hidden if deep else memory + hidden, readout)

    @property
    def source_attention(self) -> Attention:
        return self.attention

    @property
    def carries(self) -> bool:
        """What was seen goes onto the tape (deep), or into the next look."""
        return self.fusion == "deep" or self.attention.waits

    def start(self, memory: Memory) -> LstmnState:
        memory = in_kind(memory, self.W_0.weight.dtype)
        with whole(memory):
            tape = torch.tanh(self.W_0(memory.summary))[:, None, None]
            keys = self.W_h(tape[..., : self.hidden])
            prepared = self.attention.prepare(memory.keys, memory.values, memory.mask)
        gamma = memory.values.new_zeros(len(tape), 1, memory.values.shape[-1]) if self.fusion == "deep" else None
        return LstmnState(tape, keys, torch.zeros_like(keys[:, :, 0]), gamma, None, prepared)

    def step(
        self, state: LstmnState, token: Int[Tensor, "batch beam"]
    ) -> tuple[LstmnState, Look, Float[Tensor, "batch beam vocab"]]:
        with whole(state.memory):
            x = self._embed(token)
            state, look = self._advance(state, x, self.W_x(x), self.gates_x(x))
            if look is None:
                state, look = self._above(state)
            r = self._readout(state.tape[:, :, -1, : self.hidden], look)
        return state, look, self._logits(r)

    def unroll(
        self, memory: Memory, tokens: Int[Tensor, "batch time"]
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        state, looks = self.start(memory), []
        # A look that no step waits for is taken for all steps at once.
        later = not self.carries
        with whole(memory):
            x = self._embed(tokens)
            for one in zip(*(each.split(1, dim=1) for each in (x, self.W_x(x), self.gates_x(x))), strict=True):
                state, look = self._advance(state, *one)
                if look is None and not later:
                    state, look = self._above(state)
                looks.append(look)
            h = state.tape[:, 0, 1:, : self.hidden]
            if later:
                seen = self.attention(h, state.memory, self.attention.start(state.memory))
            else:
                seen = Look.join([look for look in looks if look is not None])
            r = self._readout(h, seen)
        return seen, self._logits(r)

    def _advance(
        self,
        state: LstmnState,
        x: Float[Tensor, "batch beam embed"],
        asked: Float[Tensor, "batch beam hidden"],
        gates: Float[Tensor, "batch beam gates"],
    ) -> tuple[LstmnState, Look | None]:
        """One state more on the tape, from the token's vector and what it says to scores and gates; deep, a look."""
        q = asked + self.W_h_tilde(state.h_tilde)
        s = torch.softmax(additive(q.unsqueeze(-2), state.keys, self.v), -1)
        h_tilde, c_tilde = (s @ state.tape).squeeze(-2).chunk(2, -1)
        i, f, o, c_hat = (gates + self.gates_h(h_tilde)).chunk(4, -1)
        c = torch.sigmoid(f) * c_tilde + torch.sigmoid(i) * torch.tanh(c_hat)
        look, gamma_tilde, looked = None, None, state.looked
        if self.W_r is not None and state.gamma_tilde is not None:
            look = self.attention(torch.cat([x, state.gamma_tilde], -1), state.memory, looked)
            gamma_tilde, looked = look.context, look.state
            r = torch.sigmoid(self.W_r(torch.cat([gamma_tilde, x], -1)))
            c = c + r * (gamma_tilde if self.W_alpha is None else self.W_alpha(gamma_tilde))
        h = torch.sigmoid(o) * torch.tanh(c)
        tape = torch.cat([state.tape, torch.cat([h, c], -1).unsqueeze(-2)], -2)
        keys = torch.cat([state.keys, self.W_h(h).unsqueeze(-2)], -2)
        return LstmnState(tape, keys, h_tilde, gamma_tilde, looked, state.memory), look

    def _above(self, state: LstmnState) -> tuple[LstmnState, Look]:
        """A look at the source from the newest state."""
        look = self.attention(state.tape[:, :, -1, : self.hidden], state.memory, state.looked)
        return replace(state, looked=look.state), look

    def _readout(self, h: Float[Tensor, "batch time hidden"], look: Look) -> Float[Tensor, "batch time readout"]:
        return torch.tanh(self.W_z(torch.cat([look.context, h], -1) if self.fusion == "shallow" else h))
