"""Reader: the network of tasks with a decision about their input: embed → encode → pool → match → predict.

network = Reader(embed, encoder, pool, match, head, dropout=0.3)
network.read([premises, hypotheses]).logits;  network(batch, progress).total
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.attend.reinforce import Reinforce, reward
from regard.attend.selector import share
from regard.encode import Encoder
from regard.fields.embed import Embedding
from regard.pool import Pool, Pooled
from regard.predict.match import Match
from regard.types import Batch, Memory, Network, Output, Selection, Sequences, Subwords

__all__ = ["Read", "Reader"]


@dataclass(frozen=True)
class Read:
    """What a network made of a batch: its answer, and how it came to it. Inputs stand one after the other, so that
    with two of them row `b` is the first of pair b and row `batch + b` the second."""

    logits: Float[Tensor, "batch *time label"]
    memory: Memory
    pooled: Pooled | None
    inputs: Sequences
    summary: Float[Tensor, "batch size"] | None = None  # of the example, for a baseline that is learned
    kept: Bool[Tensor, " batch"] | None = None  # which examples kept what the pooling sampled; None: all

    @property
    def lengths(self) -> Int[Tensor, " row"]:
        """How many positions were decided about: words, where subwords were read."""
        words = self.inputs.words if isinstance(self.inputs, Subwords) else None
        return self.inputs.lengths if words is None else words.lengths

    @property
    def choices(self) -> tuple[Selection, ...]:
        return self.memory.choices


class Reader(Network):
    """Embedding → encoder → pooling → matching (for pairs) → head; for tags the head reads every state.

    The head's `loss(logits, target)` gives the loss of each example. Where tokens are selected or a pooling samples,
    `reinforce` teaches the choice: the reward is `log p(y|x)` less `sparsity` times the share of tokens selected
    (ReSAN, section 3.3; of a pair the mean of both shares, and the mean over policies).
    """

    def __init__(
        self,
        embed: Embedding,
        encoder: Encoder,
        pool: Pool | None,
        match: Match | None,
        head: nn.Module,
        reinforce: Reinforce | None = None,
        dropout: float = 0.0,
        sparsity: float = 0.0,
    ) -> None:
        super().__init__()
        self.embed, self.encoder, self.pool, self.match, self.head = embed, encoder, pool, match, head
        self.reinforce, self.dropout, self.sparsity = reinforce, nn.Dropout(dropout), sparsity

    @property
    def features(self) -> bool:
        """Whether it has feature-wise attention, whose features can be shown one by one."""
        return self.encoder.features or (self.pool is not None and self.pool.features)

    def ready(self, progress: float) -> bool:
        """An encoder that selects tokens is not, while it takes all of them or only its policies learn."""
        return not self.encoder.selects or self.encoder.phase(progress) == "both"

    def count(self, batch: Batch) -> int:
        """What a loss is counted over: tokens where each has a label, else examples."""
        target = batch.target
        assert target is not None
        return int(target.lengths.sum()) if isinstance(target, Sequences) else len(target)

    def copies(self, progress: float) -> int:
        """How often each example is to be read at a step: a baseline may measure one draw by another of the same."""
        encoder, pool = self.encoder, self.pool
        choosing = encoder.selects and not (self.training and encoder.phase(progress) == "supervised")
        draws = choosing or (pool is not None and pool.chooses)
        return self.reinforce.copies if draws and self.reinforce is not None else 1

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        """The loss of the examples, what the pooling's weights cost, and what teaches the choice of tokens. Where
        examples are read several times, to measure one choice by another, all of it is the mean over these."""
        count, copies = self.count(batch), self.copies(progress)
        if copies > 1:
            batch = batch.repeat(copies)
        read = self.read(batch.inputs, progress)
        nats: Tensor = self.head.loss(read.logits, batch.target)  # type: ignore[operator]
        total, notes = nats.sum(), dict[str, Tensor]()
        if read.pooled is not None and read.pooled.penalty is not None:
            total = total + read.pooled.penalty.sum()
        if self.reinforce is not None and (taught := _choice(read, len(batch.inputs))) is not None:
            log_prob, entropy, chosen = taught
            earned = reward(-nats, chosen, self.sparsity)
            told = {"entropy": entropy, "kept": read.kept, "copies": copies}
            policy = self.reinforce(log_prob, earned, read.summary, **told).sum()
            total = policy if self.encoder.phase(progress) == "policy" else total + policy
            notes |= {"chosen": chosen.mean().detach()} if read.choices else {}
        shown = nats.detach().sum()
        if copies > 1:
            total, shown = total / copies, shown / copies
        return Output(total, count, notes, shown)

    def vectors(self, inputs: Sequence[Any]) -> Sequences:
        """All inputs embedded, one after the other."""
        sides = [self.embed(one) for one in inputs]
        return sides[0] if len(sides) == 1 else stacked(sides)

    def read(self, inputs: Sequence[Any], progress: float = 1.0) -> Read:
        words = read = self.vectors(inputs)
        phase = (self.encoder.phase(progress),) if self.encoder.selects else ()
        memory: Memory = self.encoder(words, *phase)
        summary = self._summary(words, len(inputs))
        if self.pool is None:
            return Read(self.head(self.dropout(memory.values)), memory, None, read, summary)
        pooled: Pooled = self.pool(memory)
        vector, kept = self._mixed(pooled, len(inputs), progress)
        vectors = vector.chunk(len(inputs))
        # Dropped after the match: two sentences that each lost other features would seem to differ in them.
        vector = self.dropout(vectors[0] if self.match is None else self.match(*vectors))
        return Read(self.head(vector), memory, pooled, read, summary, kept)

    def _summary(self, words: Sequences, sides: int) -> Float[Tensor, "batch size"] | None:
        """The mean of each input's words: what comes later knows what was chosen, and a baseline may not."""
        if self.reinforce is None or self.reinforce.value is None:
            return None
        total = words.values.masked_fill(~words.mask.unsqueeze(-1), 0.0).sum(1)
        return torch.cat((total / words.mask.sum(-1, keepdim=True).clamp(min=1)).chunk(sides), -1)

    def _mixed(
        self, pooled: Pooled, sides: int, progress: float
    ) -> tuple[Float[Tensor, "row size"], Bool[Tensor, " batch"] | None]:
        """Of a pooling that samples, for some examples the expected value in place of the sample, in all inputs."""
        if self.reinforce is None or pooled.expected is None or not self.training:
            return pooled.vector, None
        if not (self.reinforce.expected or self.reinforce.anneal):
            return pooled.vector, None
        sampled, expected = (
            one.reshape(sides, -1, one.shape[-1]).transpose(0, 1) for one in (pooled.vector, pooled.expected())
        )
        mixed, kept = self.reinforce.mix(sampled, expected, progress=progress)
        return mixed.transpose(0, 1).flatten(0, 1), kept


def _choice(read: Read, sides: int) -> tuple[Tensor, Tensor, Tensor] | None:
    """Of all that was sampled for each example: log-probability, entropy, and the share of tokens that was chosen;
    None where nothing was."""
    sampled = [(choice.log_prob, choice.entropy) for choice in read.choices]
    look = None if read.pooled is None else read.pooled.look
    if look is not None and look.log_prob is not None and look.entropy is not None:
        sampled.append((look.log_prob.sum(-1), look.entropy.sum(-1)))
    if not sampled:
        return None
    rows = len(sampled) * sides  # of each policy and each input, one after the other
    log_prob, entropy = (torch.stack(part).reshape(rows, -1).sum(0) for part in zip(*sampled, strict=True))
    if not read.choices:
        return log_prob, entropy, torch.zeros_like(log_prob)
    shares = share(torch.stack([choice.chosen for choice in read.choices]), read.inputs.mask, log_prob.dtype)
    return log_prob, entropy, shares.reshape(len(read.choices) * sides, -1).mean(0)


def stacked(inputs: Sequence[Sequences]) -> Sequences:
    """Several inputs as one batch, one after the other."""
    time = max(one.values.shape[1] for one in inputs)
    return Sequences(
        torch.cat([pad(one.values, (0, 0, 0, time - one.values.shape[1])) for one in inputs]),
        torch.cat([pad(one.mask, (0, time - one.mask.shape[1])) for one in inputs]),
        torch.cat([one.lengths for one in inputs]),
    )
