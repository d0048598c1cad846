"""Encoder-decoder: embed → encode → attend → predict, token by token.

network(batch, progress).total;  look, logits = network.decoder.unroll(network.encode(source), before)
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from regard.attend.reinforce import Reinforce
from regard.encode import Encoder
from regard.fields.embed import Embedding
from regard.networks.doubly_stochastic import doubly_stochastic
from regard.networks.global_fertility import GlobalFertility
from regard.networks.hard_attention import drawing, taught
from regard.networks.swap import swapped
from regard.networks.teach import Teach
from regard.predict.generate import Decoder
from regard.text import Tokenizer
from regard.types import Batch, Look, Memory, Network, Output, Progress, Sequences, wide

__all__ = ["EncoderDecoder", "shifted"]


def shifted(target: Sequences) -> Tensor:
    """The tokens before each of a target's own."""
    first = torch.full_like(target.values[:, :1], Tokenizer.start)
    return torch.cat([first, target.values[:, :-1]], dim=1)


class EncoderDecoder(Network):
    """A source → vectors → memory, and a decoder that looks at it.

    `teach` says what the decoder is shown in training; `fertility` weighs the loss of how much each source token is
    looked at (0: none), `doubly_stochastic` the penalty on positions that are looked at more or less than once in all;
    `reinforce` teaches a decoder that samples.
    """

    def __init__(
        self,
        embed: Embedding,
        encoder: Encoder,
        decoder: Decoder,
        fertility: float = 0.0,
        reinforce: Reinforce | None = None,
        teach: Teach | None = None,
        label_smoothing: float = 0.0,
        doubly_stochastic: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed, self.encoder, self.decoder = embed, encoder, decoder
        self.fertility = GlobalFertility(encoder.size) if fertility else None
        self.fertility_weight, self.reinforce = fertility, reinforce
        self.teach, self.label_smoothing = teach or Teach(), label_smoothing
        self.doubly_stochastic = doubly_stochastic

    @property
    def wide(self) -> bool:
        """Whether half precision pays: not in a loop of small steps (docs/LOG.md)."""
        return self.decoder.parallel

    @property
    def layers(self) -> int:
        return self.decoder.layers

    def steady(self, progress: float) -> bool:
        parts = self.embed.steady and self.encoder.steady and self.decoder.steady and self.fertility is None
        teach = self.teach.scheduled_sampling == "none" and not self.teach.disturbs
        return parts and teach and (self.reinforce is None or self.reinforce.steady(progress))

    def count(self, batch: Batch) -> int:
        """A loss is counted over target tokens."""
        assert isinstance(batch.target, Sequences)
        return int(batch.target.lengths.sum())

    def showing(self, layers: str) -> Network:
        if not (layers and self.layers):
            return super().showing(layers)
        return swapped(self, self.decoder, self.decoder.showing(layers))  # type: ignore[no-any-return]

    @property
    def steps(self) -> Any:
        """What a search asks for the next token."""
        return self.decoder

    def encode(self, source: Any) -> Memory:
        memory: Memory = self.encoder(self.embed(source))
        return memory

    def forward(self, batch: Batch, progress: Progress = 1.0) -> Output:
        return self.looked(batch, progress)[0]

    def looked(self, batch: Batch, progress: Progress = 1.0) -> tuple[Output, Look]:
        """The loss, and where the decoder looked. Only in training is the source disturbed and the truth withheld.
        Where sentences are read several times, to measure one draw by another, the loss is the mean over these."""
        teach = self.teach if self.training else Teach()
        memory = self.encode(teach.source(batch.source, self.embed.vocab))
        assert isinstance(batch.target, Sequences)
        return self.written(memory, batch.target, progress)

    def written(self, memory: Memory, target: Sequences, progress: Progress) -> tuple[Output, Look]:
        """The loss of writing the target from a memory, and where the decoder looked."""
        teach = self.teach if self.training else Teach()
        before = shifted(target)
        count, copies = int(target.lengths.sum()), 1 if self.reinforce is None else self.reinforce.copies
        if copies > 1:  # they are encoded once
            memory, target, before = memory.repeat(copies), target.repeat(copies), torch.cat([before] * copies)
        with drawing(self.reinforce, memory, progress, copies) as kept:
            look, logits, noted = teach.unroll(self.decoder, memory, before, progress)
        if self.training and self.label_smoothing:
            noted = {"label_smoothing": self.label_smoothing, **noted}
        notes = {name: torch.tensor(number) for name, number in noted.items()}
        nats = cross_entropy(
            wide(logits.flatten(0, 1)),
            target.values.flatten(),
            ignore_index=Tokenizer.pad,
            reduction="sum" if self.reinforce is None else "none",
            label_smoothing=self.label_smoothing,
        )
        total, shown = nats.sum(), None
        if self.fertility is not None:
            unlikely, tokens = self.fertility(memory, look, target.mask)
            total = total + self.fertility_weight * unlikely
            notes["fertility"] = (unlikely / tokens).detach()
        if self.doubly_stochastic:
            uneven = doubly_stochastic(look, target.mask, memory)
            total = total + self.doubly_stochastic * uneven.sum()
            notes["uneven"] = uneven.mean().detach()
        if self.reinforce is not None:
            # A token that is said may be shown to later steps, and tell them what was seen.
            carries = self.decoder.carries or teach.scheduled_sampling != "none"
            steps = nats.reshape(target.values.shape), target.mask, carries
            policy, told = taught(self.reinforce, look, *steps, memory, kept, copies)
            total, shown = (total + policy) / copies, total.detach() / copies
            notes |= told
        return Output(total, count, notes, shown), look

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        """A run that sampled before samples were taught has no baseline: it begins as it is."""
        if self.reinforce is not None:
            for name, value in self.reinforce.state_dict(prefix=f"{prefix}reinforce.").items():
                state.setdefault(name, value)
        super()._load_from_state_dict(state, prefix, *rest)
