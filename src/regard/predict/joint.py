"""Joint decoding: an attention decoder and CTC choose each token together.

    log p(c | g) = (1 − λ) log p_att(c | g) + λ log p_ctc(c | g)

Watanabe, Hori, Kim, Hershey & Hayashi 2017, "Hybrid CTC/Attention Architecture for End-to-End Speech Recognition",
section III-C (one-pass decoding; summed over the tokens of g, λ log ψ(g) is their prefix score). It has the interface
of a decoder, so every search and every limit works with it. A geometric mean of two distributions sums to less than
1. What is missing is given to the padding, which is never chosen, so that a search that normalises leaves the scores
as they are.

    JointDecoder(decoder, ctc, weight=0.3).step(state, token)
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.predict.ctc import Ctc
from regard.predict.generate import Decoder
from regard.text import Tokenizer
from regard.types import Beams, Look, Memory, wide

__all__ = ["JointDecoder", "JointState"]


@dataclass(frozen=True)
class JointState(Beams):
    """The states of both."""

    attention: Any
    ctc: Any

    def reorder(self, parents: Int[Tensor, "batch beam"]) -> "JointState":
        """Each in its own way."""
        return JointState(self.attention.reorder(parents), self.ctc.reorder(parents))


class JointDecoder:
    """Two decoders of one memory as one. It looks where the attention decoder looks."""

    def __init__(self, decoder: Decoder, ctc: Ctc, weight: float) -> None:
        self.decoder, self.ctc, self.weight = decoder, ctc, weight

    def start(self, memory: Memory) -> JointState:
        return JointState(self.decoder.start(memory), self.ctc.start(memory))

    def step(
        self, state: JointState, token: Int[Tensor, "batch beam"]
    ) -> tuple[JointState, Look, Float[Tensor, "batch beam vocab"]]:
        attention, look, logits = self.decoder.step(state.attention, token)
        ctc, _, others = self.ctc.step(state.ctc, token)
        both = (1 - self.weight) * torch.log_softmax(wide(logits), -1) + self.weight * torch.log_softmax(others, -1)
        both = both.index_fill(-1, torch.tensor([Tokenizer.pad], device=both.device), float("-inf"))
        missing = torch.log((1 - both.exp().sum(-1)).clamp(min=1e-30))
        both[..., Tokenizer.pad] = missing
        return JointState(attention, ctc), look, both
