"""Transcriber: an encoder-decoder with CTC beside its attention decoder, trained and searched jointly.

    loss = (1 − λ) −log p_att(tokens) + λ −log p_ctc(tokens)        λ is `ctc_weight`

Kim, Hori & Watanabe 2017, "Joint CTC-Attention Based End-to-End Speech Recognition Using Multi-Task Learning", section
3.1. CTC keeps the alignment monotonic, which helps most at the beginning of the training; at λ = 1 there is CTC alone,
at λ = 0 attention alone. A search asks both (`regard.predict.joint`), with the same λ.
"""

from typing import Any

from torch import nn

from regard.networks.encoder_decoder import EncoderDecoder
from regard.networks.monotonic import monotonic
from regard.predict.ctc import Ctc
from regard.predict.joint import JointDecoder
from regard.types import Batch, Output, Progress, Sequences

__all__ = ["Transcriber"]


class Transcriber(EncoderDecoder):
    """An attention decoder, CTC, or both over one encoder. `monotonic` weighs the penalty on looking back.

    At a weight of 1 CTC is the decoder.
    """

    def __init__(self, parts: EncoderDecoder, ctc: Ctc | None, ctc_weight: float, monotonic: float = 0.0) -> None:
        nn.Module.__init__(self)
        self.embed, self.encoder = parts.embed, parts.encoder
        alone = ctc is not None and ctc_weight == 1
        self.decoder = ctc if ctc is not None and alone else parts.decoder
        self.ctc, self.ctc_weight, self.monotonic = None if alone else ctc, ctc_weight, monotonic
        self.fertility, self.fertility_weight, self.reinforce = None, 0.0, None if alone else parts.reinforce
        self.teach, self.label_smoothing = parts.teach, parts.label_smoothing
        self.doubly_stochastic = 0.0

    @property
    def steps(self) -> Any:
        if self.ctc is None:
            return self.decoder
        return JointDecoder(self.decoder, self.ctc, self.ctc_weight)

    def forward(self, batch: Batch, progress: Progress = 1.0) -> Output:
        memory, target = self.encode(batch.source), batch.target
        assert isinstance(target, Sequences)
        if isinstance(self.decoder, Ctc):
            return Output(self.decoder.loss(memory, target).sum(), int(target.lengths.sum()))
        nats = None if self.ctc is None else self.ctc.loss(memory, target).sum()
        notes = {} if nats is None else {"ctc": (nats / target.lengths.sum()).detach()}
        output, look = self.written(memory, target, progress)
        total = output.total
        if self.monotonic:
            back = monotonic(look, target.mask, memory)
            total = total + self.monotonic * back.sum()
            notes["back"] = back.mean().detach()
        if nats is not None:
            total = (1 - self.ctc_weight) * total + self.ctc_weight * nats
        return Output(total, output.count, {**output.notes, **notes}, output.shown)
