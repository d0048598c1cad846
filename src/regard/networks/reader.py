"""Reader: the network of tasks with a decision about their input: embed → encode → pool → match → predict.

network = Reader(embed, encoder, pool, match, head, dropout=0.3)
network.read([premises, hypotheses]).logits;  network(batch, progress).total
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import pad

from regard.attend.bernoulli import share
from regard.attend.estimator import Draw, Estimator, Gates
from regard.attend.estimator.nvil import Nvil
from regard.attend.reinforce import Reinforce
from regard.attend.sparsity import Sparsity
from regard.encode import Encoder
from regard.errors import RegardError
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

    The head's `loss(logits, target)` gives the loss of each example. Where a pooling samples, `reinforce` teaches it
    with the reward `log p(y|x)`. Where an encoder selects tokens its policies learn by an `estimator`, and `sparsity`
    says what their share costs (of a pair the mean of both shares, and the mean over policies).
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
        sparsity: Sparsity | None = None,
        estimator: Estimator | None = None,
    ) -> None:
        super().__init__()
        self.embed, self.encoder, self.pool, self.match, self.head = embed, encoder, pool, match, head
        self.reinforce, self.dropout = reinforce, nn.Dropout(dropout)
        self.sparsity, self.estimator = sparsity, estimator

    @property
    def features(self) -> bool:
        """Whether it has feature-wise attention, whose features can be shown one by one."""
        return self.encoder.features or (self.pool is not None and self.pool.features)

    def ready(self, progress: float) -> bool:
        """An encoder that selects tokens is not, while it takes all of them, more than are wished in the end, or only
        its policies learn."""
        if not self.encoder.selects:
            return True
        settled = self.sparsity is None or self.sparsity.settled(progress)
        return settled and self.encoder.phase(progress) in ("both", "settled")

    def count(self, batch: Batch) -> int:
        """What a loss is counted over: tokens where each has a label, else examples."""
        target = batch.target
        assert target is not None
        return int(target.lengths.sum()) if isinstance(target, Sequences) else len(target)

    def copies(self, progress: float) -> int:
        """How often each example is to be read at a step: a baseline may measure one draw by another of the same."""
        encoder, pool = self.encoder, self.pool
        choosing = encoder.selects and not (self.training and encoder.phase(progress) in ("supervised", "settled"))
        if choosing and self.estimator is not None:
            return self.estimator.copies
        draws = choosing or (pool is not None and pool.chooses)
        return self.reinforce.copies if draws and self.reinforce is not None else 1

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        """The loss of the examples, what the pooling's weights cost, and what teaches the choice of tokens. Where
        examples are read several times, to measure one choice by another, all of it is the mean over these."""
        count, copies = self.count(batch), self.copies(progress)
        if copies > 1:
            batch = batch.repeat(copies)
        phase = self.encoder.phase(progress)
        read = self.read(batch.inputs, progress, copies)
        nats: Tensor = self.head.loss(read.logits, batch.target)  # type: ignore[operator]
        total, notes = nats.sum(), dict[str, Tensor]()
        if read.pooled is not None and read.pooled.penalty is not None:
            total = total + read.pooled.penalty.sum()
        if phase == "supervised" and self.training and self.encoder.imitate:
            total = total + self._imitated(read) / len(batch.inputs)
        if phase == "settled" and self.training:
            read = replace(read, memory=replace(read.memory, choices=()))  # nothing was drawn
        if self.reinforce is not None and (taught := _choice(read, len(batch.inputs))) is not None:
            policy, told = self._policy(taught, -nats.detach(), read, copies, progress)
            # Where gates pass the gradient the task's loss teaches the policies, so it cannot be left out.
            passes = self.estimator is not None and self.estimator.passes
            alone = phase == "policy" and not passes
            total, notes = (policy if alone else total + policy), notes | told
        shown = nats.detach().sum()
        if copies > 1:
            total, shown = total / copies, shown / copies
        return Output(total, count, notes, shown)

    def _imitated(self, read: Read) -> Tensor:
        """What teaches policies to select what the pooling weighs most, before they select anything."""
        look = None if read.pooled is None else read.pooled.look
        if look is None or self.sparsity is None or self.sparsity.target is None:
            raise RegardError(
                "encoder.imitate without " + ("a pooling that has weights" if look is None else "sparsity.target"),
                do="add pool=source2token" if look is None else "say which share of the tokens: sparsity.target=0.5",
            )
        with torch.no_grad():
            weights = look.by_key.mean(1)
        return self.encoder.imitated(read.inputs, weights, self.sparsity.target).sum()

    def _policy(
        self, taught: "_Taught", reward: Float[Tensor, " batch"], read: Read, copies: int, progress: float
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss that teaches what was chosen, and what to log of it."""
        assert self.reinforce is not None
        known: dict[str, Any] = {"entropy": taught.entropy, "kept": read.kept, "copies": copies}
        if self.estimator is None or not read.choices:
            return self.reinforce(taught.score, reward, read.summary, **known).sum(), {}
        found = self.estimator.loss(taught.score, reward, self.reinforce, summary=read.summary, **known).sum()
        notes = {"chosen": taught.chosen, "entropy": taught.entropy, "reward": reward}
        told = {name: one.detach().mean() for name, one in notes.items()}
        told["gradient_variance"] = self.estimator.variance.clone()
        if self.sparsity is not None and taught.expected is not None:
            found = found + self.sparsity(taught.expected, taught.decided, progress).sum()
            for number, choice in enumerate(read.choices):
                shares = taught.expected if taught.decided is None else taught.decided
                told[choice.name] = shares[number].detach().mean()
                if self.sparsity.target is not None:
                    told[f"multiplier_{choice.name}"] = self.sparsity.multiplier[number].clone()
        return found, told

    def vectors(self, inputs: Sequence[Any]) -> Sequences:
        """All inputs embedded, one after the other."""
        sides = [self.embed(one) for one in inputs]
        return sides[0] if len(sides) == 1 else stacked(sides)

    def encoded(
        self, words: Sequences, sides: int = 1, progress: float = 1.0, copies: int = 1, narrow: bool = False
    ) -> Memory:
        """The states of the words of so many inputs. `narrow` leaves out tokens that were not chosen, where the
        encoder can: then states are not one for each position, and cannot be looked at."""
        if not self.encoder.selects:
            return self.encoder(words)  # type: ignore[no-any-return]
        phase, estimator = self.encoder.phase(progress), self.estimator
        draw: Draw | None = None
        if estimator is not None:
            drawn = self.training and phase != "settled"
            draw = partial(estimator.draw, sides=sides, copies=copies) if drawn else self._decide
        return self.encoder(words, phase, draw, narrow)  # type: ignore[no-any-return]

    def _decide(self, logits: Float[Tensor, "policy row time"], mask: Bool[Tensor, "row time"]) -> Gates:
        """The choice outside training, and while policies rest: of tokens above the cut, which then moves."""
        assert self.estimator is not None
        if self.sparsity is None:
            return self.estimator.decide(logits, mask)
        found = self.estimator.decide(logits - self.sparsity.cut.to(logits.dtype)[:, None, None], mask)
        if self.training:
            self.sparsity.rest(share(found.chosen, mask), logits, mask)
        return found

    def read(self, inputs: Sequence[Any], progress: float = 1.0, copies: int = 1, narrow: bool = False) -> Read:
        """What the network makes of its inputs, which may be several `copies` of a batch, one after the other. With
        `narrow` it skips tokens that were not chosen; its answer is the same, but nobody can look at it."""
        words = read = self.vectors(inputs)
        memory = self.encoded(words, len(inputs), progress, copies, narrow and self.pool is not None)
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
        learned = self.reinforce is not None and self.reinforce.value is not None
        if not (learned or isinstance(self.estimator, Nvil)):
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

    @property
    def spare(self) -> frozenset[str]:
        """What choices are taught by: earlier versions had no estimators and no learned price."""
        return frozenset(name for name in self.state_dict() if name.startswith(("estimator.", "sparsity.")))

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        own = self.state_dict(prefix=prefix)
        for name in self.spare:
            state.setdefault(f"{prefix}{name}", own[f"{prefix}{name}"])
        super()._load_from_state_dict(state, prefix, *rest)


@dataclass(frozen=True)
class _Taught:
    """What was sampled for each example: what the reward teaches by, how open the choice was, and, of an encoder that
    selects, the share of tokens that it chose, that its probabilities choose on average, and that it would decide for
    outside training."""

    score: Float[Tensor, " batch"]
    entropy: Float[Tensor, " batch"]
    chosen: Float[Tensor, " batch"]
    expected: Float[Tensor, "policy batch"] | None
    decided: Float[Tensor, "policy batch"] | None


def _choice(read: Read, sides: int) -> _Taught | None:
    """All that was sampled for each example; None where nothing was."""
    sampled = [(choice.log_prob, choice.entropy) for choice in read.choices]
    look = None if read.pooled is None else read.pooled.look
    if look is not None and look.log_prob is not None and look.entropy is not None:
        sampled.append((look.log_prob.sum(-1), look.entropy.sum(-1)))
    if not sampled:
        return None
    rows = len(sampled) * sides  # of each policy and each input, one after the other
    score, entropy = (torch.stack(part).reshape(rows, -1).sum(0) for part in zip(*sampled, strict=True))
    if not read.choices:
        return _Taught(score, entropy, torch.zeros_like(score), None, None)
    shares = share(torch.stack([choice.chosen for choice in read.choices]), read.inputs.mask, score.dtype)
    policies = len(read.choices)

    def mean(each: list[Tensor | None]) -> Tensor | None:
        there = [one for one in each if one is not None]
        return torch.stack(there).reshape(policies, sides, -1).mean(1) if there else None

    expected, decided = mean([one.expected for one in read.choices]), mean([one.decided for one in read.choices])
    return _Taught(score, entropy, shares.reshape(policies * sides, -1).mean(0), expected, decided)


def stacked(inputs: Sequence[Sequences]) -> Sequences:
    """Several inputs as one batch, one after the other."""
    time = max(one.values.shape[1] for one in inputs)
    return Sequences(
        torch.cat([pad(one.values, (0, 0, 0, time - one.values.shape[1])) for one in inputs]),
        torch.cat([pad(one.mask, (0, time - one.mask.shape[1])) for one in inputs]),
        torch.cat([one.lengths for one in inputs]),
    )
