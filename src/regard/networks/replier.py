"""Replier: an encoder-decoder that writes replies, a product of vectors that matches them with messages, and a trigger
that says whether one of the allowed replies will do.

    loss = Σ_tokens −log p(token | tokens before, message) + v matching loss + w Σ_messages −log p(suggest or not | m)
    p(suggest | m) = σ(z · tanh(W m + b) + c)        w is `trigger_weight`
    m = [encoder's summary; √d u]                    u: the message as it is matched, d numbers

All are trained together. The matching loss, with weight `match_weight` = v, is that of regard.predict.ngram_match; of
every message and its reply, whether or not the decoder learns to write it. What is matched is also told to the decoder
and to the trigger, with numbers about as large as those of a summary: words and word pairs are learned sooner than a
recurrent encoder. They take it as it is: no gradient of theirs changes the matching. The trigger reads the same as the
decoder, so it costs nothing beside the search, and it decides before a reply is scored (Kannan et al. 2016, "Smart
Reply", section 4, has a network of its own for it). A message without a reply teaches the trigger alone.
"""

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from regard.fields.suggestion import ReplyBatch
from regard.networks.encoder_decoder import EncoderDecoder
from regard.predict.ngram_match import NgramMatch
from regard.types import Batch, Memory, Output, Progress, Sequences

__all__ = ["Replier"]


class Replier(EncoderDecoder):
    """An encoder-decoder with a matching and a trigger beside its decoder."""

    def __init__(self, parts: EncoderDecoder, match: NgramMatch, match_weight: float, trigger_weight: float) -> None:
        nn.Module.__init__(self)
        self.embed, self.encoder, self.decoder = parts.embed, parts.encoder, parts.decoder
        self.fertility, self.fertility_weight, self.reinforce = None, 0.0, parts.reinforce
        self.teach, self.label_smoothing, self.doubly_stochastic = parts.teach, parts.label_smoothing, 0.0
        width = self.encoder.summary + match.size
        self.trigger = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.2), nn.Linear(width, 1))
        self.match, self.match_weight, self.trigger_weight = match, match_weight, trigger_weight

    def count(self, batch: Batch) -> int:
        """Target tokens, and each decision of the trigger as one more."""
        assert isinstance(batch.target, Sequences)
        return int(batch.target.lengths.sum()) + len(batch.target.lengths)

    def encode(self, source: Any) -> Memory:
        return self.both(source)[0]

    def both(self, source: Any) -> tuple[Memory, Float[Tensor, "batch size"]]:
        """What decoder and trigger read, and u, which is compared with replies."""
        memory, u = super().encode(source), self.match.message(source).vector
        assert memory.summary is not None
        told = self.match.size**0.5 * u.detach().to(memory.summary)
        return replace(memory, summary=torch.cat([memory.summary, told], -1)), u

    def triggered(self, memory: Memory) -> Float[Tensor, " batch"]:
        """The logit of the probability that one of the allowed replies will do."""
        logits: Tensor = self.trigger(memory.summary).squeeze(-1)
        return logits

    def forward(self, batch: Batch, progress: Progress = 1.0) -> Output:
        teach = self.teach if self.training else type(self.teach)()
        source, target = teach.source(batch.source, self.embed.vocab), batch.target
        assert isinstance(target, ReplyBatch)
        memory, u = self.both(source)
        # Only messages with a reply to write, which are few: the output layer costs most. But not none of them.
        some = target.lengths.nonzero().squeeze(1) if target.lengths.any() else torch.zeros(1, dtype=torch.long)
        output, _ = self.written(memory.select(some), target.select(some), progress)
        wanted = target.suggest.to(memory.keys.dtype)
        missed = binary_cross_entropy_with_logits(self.triggered(memory), wanted, reduction="sum")
        apart = self.match.loss(u, target.said)
        notes = {name: (nats / len(wanted)).detach() for name, nats in (("trigger", missed), ("match", apart))}
        shown = None if output.shown is None else output.shown + missed.detach()
        total = output.total + self.trigger_weight * missed + self.match_weight * apart
        return Output(total, self.count(batch), {**output.notes, **notes}, shown)

    @torch.no_grad()
    def chance(self, memory: Memory) -> list[float]:
        """The probability, for each message, that one of the allowed replies will do."""
        return torch.sigmoid(self.triggered(memory).float()).tolist()
