"""The network of all tasks that decide about sentences: words → encode → pool → match → predict.

Reader(words, encoder, pool, match, head, None, dropout=0.3)([premises, hypotheses]).logits
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.attend.reinforce import Reinforce
from regard.encode import Encoder
from regard.encode._words import Words
from regard.pool import Pool, Pooled
from regard.predict.match import Match
from regard.types import Batch, Choice, Memory, Sequences

__all__ = ["Read", "Reader", "copied", "stacked"]


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
    def choices(self) -> tuple[Choice, ...]:
        return self.memory.choices


class Reader(nn.Module):
    """Words → encoder → pooling → matching (for pairs) → head; for tags the head reads every state."""

    wide = True  # half precision pays

    def __init__(
        self,
        words: Words,
        encoder: Encoder,
        pool: Pool | None,
        match: Match | None,
        head: nn.Module,
        reinforce: Reinforce | None,
        dropout: float,
    ) -> None:
        super().__init__()
        self.words, self.encoder, self.pool, self.match, self.head = words, encoder, pool, match, head
        self.reinforce, self.dropout = reinforce, nn.Dropout(dropout)

    @property
    def copies(self) -> int:
        """How often each example is to be read at a step: a baseline may measure one draw by another of the same."""
        encoder, pool = self.encoder, self.pool
        choosing = encoder.chooses and not (self.training and encoder.phase == "supervised")
        draws = choosing or (pool is not None and pool.chooses)
        return self.reinforce.copies if draws and self.reinforce is not None else 1

    def forward(self, inputs: Sequence[Sequences]) -> Read:
        read = inputs[0] if len(inputs) == 1 else stacked(inputs)
        words = Sequences(self.words(read.values), read.mask, read.lengths)
        memory: Memory = self.encoder(words)
        summary = self._summary(words, len(inputs))
        if self.pool is None:
            return Read(self.head(self.dropout(memory.values)), memory, None, read, summary)
        pooled: Pooled = self.pool(memory)
        vector, kept = self._mixed(pooled, len(inputs))
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

    def _mixed(self, pooled: Pooled, sides: int) -> tuple[Float[Tensor, "row size"], Bool[Tensor, " batch"] | None]:
        """Of a pooling that samples, for some examples the expected value in place of the sample, in all inputs."""
        if self.reinforce is None or pooled.expected is None or not (self.training and self.reinforce.expected):
            return pooled.vector, None
        sampled, expected = (
            one.reshape(sides, -1, one.shape[-1]).transpose(0, 1) for one in (pooled.vector, pooled.expected())
        )
        mixed, kept = self.reinforce.mix(sampled, expected)
        return mixed.transpose(0, 1).flatten(0, 1), kept


def stacked(inputs: Sequence[Sequences]) -> Sequences:
    """Several inputs as one batch, one after the other."""
    time = max(one.values.shape[1] for one in inputs)
    return Sequences(
        torch.cat([pad(one.values, (0, time - one.values.shape[1])) for one in inputs]),
        torch.cat([pad(one.mask, (0, time - one.mask.shape[1])) for one in inputs]),
        torch.cat([one.lengths for one in inputs]),
    )


def copied(batch: Batch, copies: int) -> Batch:
    """The whole batch so many times, one after the other."""
    if copies == 1:
        return batch

    def again(one: Tensor) -> Tensor:
        return torch.cat([one] * copies)

    def rows(one: Sequences) -> Sequences:
        return Sequences(again(one.values), again(one.mask), again(one.lengths))

    target = batch.target
    if target is not None:
        target = rows(target) if isinstance(target, Sequences) else again(target)
    return Batch(tuple(map(rows, batch.inputs)), target)
