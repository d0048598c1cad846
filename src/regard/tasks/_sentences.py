"""What all tasks share that decide about one or two sentences: words → encode → pool → match → predict.

A task of this kind is a small file that says what its targets are; see `classify`, `entail`, `relate` and `tag`.
"""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attend.reinforce import Reinforce, reward
from regard.attend.selector import share
from regard.data.batch import in_order
from regard.encode import Encoder
from regard.encode._words import Words, coverage
from regard.errors import RegardError
from regard.find import In, Of, Spec, build, call, settable, table
from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.pool import Pool
from regard.ranges import NonNegative
from regard.tasks._features import Features
from regard.tasks._measured import Measured
from regard.tasks._reader import Read, Reader, copied
from regard.tasks._sampled import must_learn
from regard.tasks._seen import Seen
from regard.tasks._without import Without, left
from regard.text import Text
from regard.text._vectors import Vectors, read_vectors, side_by_side
from regard.train.task import Item, Loss
from regard.types import Batch, Example, Prediction, Sequences, Token

__all__ = ["Pooling", "SampledTokens", "Sentences", "Sparsity", "WordVectors"]

# Options that several tasks have.
Pooling = Annotated[
    Spec | None, In("pool"), "how the encoder's states become one vector; none takes the encoder's usual way"
]
SampledTokens = Annotated[
    Spec, Of("attend.reinforce.Reinforce"), "how an encoder or pooling that samples tokens is trained"
]
Sparsity = Annotated[NonNegative, "price on the share of tokens chosen, for an encoder that chooses (resan)"]
WordVectors = Annotated[Spec, Of("encode._words.Words"), "word vectors, learned or from a file"]


class Sentences(Measured):
    """One sentence or two in, a decision out."""

    name: ClassVar[str]
    columns: ClassVar[int]
    counts: ClassVar[str] = "examples"  # what a loss is counted in
    known: ClassVar[tuple[tuple[str, ...], ...]] = ()  # columns of well-known files, recognised by their names
    roles: ClassVar[tuple[str, ...]] = ("text",)  # what the inputs are called
    notes: Sequence[str] = ()  # what a person should know of the data, said once

    def __init__(
        self,
        text: Spec,
        embed: Spec,
        encoder: Spec,
        pool: Spec | None,
        match: Spec | None,
        head: Spec,
        reinforce: Spec,
        sparsity: float,
        metrics: Sequence[Spec],
        best_metric: str,
        dropout: float,
        max_length: int,
    ) -> None:
        super().__init__(metrics, best_metric)
        self.options: dict[str, Any] = {"text": text, "encoder": encoder, "pool": pool, "match": match, "head": head}
        self.embed, self.reinforce = table(embed), table(reinforce)
        self.sparsity, self.dropout, self.max_length = sparsity, dropout, max_length
        self.text: Text
        self.learned: tuple[Sequence[Example], list[Item]] = (), []
        self.found = 0  # words that have a vector
        self.vectors: Vectors | None = None

    # --- words -------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> None:
        texts = [text for example in examples for text in example.inputs]
        self.text = build("text", self.options["text"]).train(texts)
        if self.embed.get("vectors"):
            self._learn_vectors(texts)
        self.learn_targets(examples)
        self.learned = examples, self._made(examples)  # a mistake in the data is told before a run is begun

    def _learn_vectors(self, texts: Sequence[str]) -> None:
        """Words that only the vector file knows are known too: a text to come may hold them. Several files, with commas
        between, are joined."""
        most, given = self.embed.get("max_vectors", 50_000), str(self.embed["vectors"])
        paths = [given] if os.path.exists(os.path.expanduser(given)) else given.split(",")
        words = set(self.text.seen[4:])
        self.vectors = side_by_side([read_vectors(path.strip(), words, most) for path in paths])
        self.text = self.text.extend(self.vectors.words)
        counts = Counter(number for row in self.text.encode_all(texts) for number in row[:-1])
        report = coverage(self.text.vocabulary, counts, self.vectors)
        self.found = report.found
        width = self.vectors.width
        # What a preset or the default says of the width is meant for words that are learned from nothing.
        free = settable(Words)["dim"].default, getattr(self, "preset", {}).get("embed", {}).get("dim")
        if self.embed.get("dim", width) not in (width, *free):
            got = f"embed.dim={self.embed['dim']}, and {given} has {width} numbers a word"
            raise RegardError(got, do=f"leave embed.dim out, or set it to {width}")
        self.embed["dim"] = width
        self.notes = [str(report)]

    def learn_targets(self, examples: Sequence[Example]) -> None:
        """Take what can be answered from the training examples."""
        raise NotImplementedError

    def keep(self) -> dict[str, Any]:
        return {"text": self.text.to_dict(), "found": self.found, "width": self.embed.get("dim")}

    def restore(self, kept: dict[str, Any]) -> None:
        self.text, self.found = Text.from_dict(kept["text"]), int(kept["found"])
        if kept["width"] is not None:
            self.embed["dim"] = int(kept["width"])

    # --- model and loss ----------------------------------------------------------------------------------

    def model(self) -> Reader:
        words = call(Words, self.embed, vocab=len(self.text), found=self.found)
        if self.vectors is not None:
            words.fill(self.text.vocabulary, self.vectors)
        encoder: Encoder = build("encode", self.options["encoder"], inputs=words.size)
        must_learn(encoder, "encoder.normalizer")
        pool = self._pool(encoder)
        if pool is not None:
            must_learn(pool, "pool.normalizer", reinforced=pool.chooses)
        match, size = None, encoder.size if pool is None else pool.size
        if self.options["match"] is not None:
            match = build("predict.match", self.options["match"], inputs=size, rows=1 if pool is None else pool.rows)
            size = match.size
        reinforce = None
        if encoder.chooses or (pool is not None and pool.chooses):
            usual = getattr(encoder, "reinforce", {})  # what one that chooses is best taught by
            reinforce = call(Reinforce, {**usual, **self.reinforce}, size=words.size * (self.columns - 1))
            if reinforce.expected and not (pool is not None and pool.chooses):
                raise RegardError(
                    f"reinforce.expected={reinforce.expected} and nothing that has an expected value",
                    expected="a pooling that samples",
                    do="add pool=attention pool.normalizer=sample, or leave it out",
                )
        return Reader(words, encoder, pool, match, self.head(size), reinforce, self.dropout)

    def _pool(self, encoder: Encoder) -> Pool | None:
        spec = encoder.pool if self.options["pool"] is None else self.options["pool"]
        return build("pool", spec, inputs=encoder.size, summary=encoder.summary)  # type: ignore[no-any-return]

    def head(self, size: int) -> nn.Module:
        raise NotImplementedError

    def items(self, examples: Sequence[Example]) -> list[Item]:
        return self.learned[1] if examples is self.learned[0] else self._made(examples)

    def _made(self, examples: Sequence[Example]) -> list[Item]:
        sides = [self.rows([e.inputs[i] for e in examples], examples, i) for i in range(self.columns - 1)]
        targets = [self.target(example) for example in examples]
        items = [Item(tuple(inputs), target) for *inputs, target in zip(*sides, targets, strict=True)]
        for item, example in zip(items, examples, strict=True):
            self.check(item, example)
        return items

    def check(self, item: Item, example: Example) -> None:
        """Raise where inputs and target do not belong together."""

    def rows(self, texts: Sequence[str], places: Sequence[Example], side: int) -> list[list[int]]:
        """Token numbers of each text, without the end that closes a target."""
        rows = [row[:-1] for row in self.text.encode_all(texts)]
        for number, row in enumerate(rows):
            where = (places[number].where if places else "") or f"input {number + 1}"
            if not row or not texts[number].strip():
                raise RegardError(f"{where}: an empty {self.roles[side]}", expected="at least one word")
            if len(row) > self.max_length:
                raise RegardError(
                    f"{where}: {len(row):,} tokens in the {self.roles[side]}",
                    expected=f"at most {self.max_length:,}",
                    do=f"shorten it, or train with max_length={len(row)}",
                )
        return rows

    def target(self, example: Example) -> list[Any]:
        raise NotImplementedError

    def collate(self, items: Sequence[Item]) -> Batch:
        inputs = tuple(Sequences.pad([item.inputs[side] for item in items]) for side in range(self.columns - 1))
        return Batch(inputs, self.targets(items))

    def targets(self, items: Sequence[Item]) -> Tensor | Sequences:
        raise NotImplementedError

    def nats(self, read: Read, target: Any) -> Float[Tensor, " batch"]:
        """The loss of each example."""
        raise NotImplementedError

    def on_step(self, model: nn.Module, progress: float) -> None:
        assert isinstance(model, Reader)
        model.encoder.on_step(progress)

    def ready(self, model: nn.Module) -> bool:
        """One that chooses tokens is not, while all are taken or only the policies learn."""
        assert isinstance(model, Reader)
        return not model.encoder.chooses or model.encoder.phase == "both"

    def count(self, batch: Batch) -> int:
        return len(batch.source.lengths)

    def _choice(self, read: Read, sides: int) -> tuple[Tensor, Tensor, Tensor] | None:
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

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The task's own loss, what the pooling's weights cost, and, where tokens were chosen, what teaches the choice:
        the reward is `log p(y|x)` less the price of the share chosen (ReSAN, section 3.3; of a pair the mean of both
        shares, and the mean over policies). Where examples are read
        several times, to measure one choice by another, all of it is the mean over these."""
        assert isinstance(model, Reader)
        count, copies = self.count(batch), model.copies
        batch = copied(batch, copies)
        read = model(batch.inputs)
        nats = self.nats(read, batch.target)
        total, notes = nats.sum(), dict[str, Tensor]()
        if read.pooled is not None and read.pooled.penalty is not None:
            total = total + read.pooled.penalty.sum()
        if model.reinforce is not None and (taught := self._choice(read, len(batch.inputs))) is not None:
            log_prob, entropy, chosen = taught
            earned = reward(-nats, chosen, self.sparsity)
            told = {"entropy": entropy, "kept": read.kept, "copies": copies}
            policy = model.reinforce(log_prob, earned, read.summary, **told).sum()
            total = policy if model.encoder.phase == "policy" else total + policy
            notes |= {"chosen": chosen.mean().detach()} if read.choices else {}
        shown = nats.detach().sum()
        if copies > 1:
            total, shown = total / copies, shown / copies
        return Loss(total, count, notes, shown)

    # --- answers -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def results(
        self, model: nn.Module, examples: Sequence[Example], quick: bool = False, search: Any = None
    ) -> Results:
        assert isinstance(model, Reader)
        items, device = self.items(examples), next(model.parameters()).device
        found: list[Prediction | None] = [None] * len(items)
        nats, tokens, shares = 0.0, 0, []
        for rows in in_order([item.lengths for item in items], tokens=16_384):
            batch = self.collate([items[row] for row in rows])
            read = model(batch.to(device).inputs)
            assert batch.target is not None
            nats += float(self.nats(read, batch.target.to(device)).sum())
            tokens += self.count(batch)
            shares += [float(share(one.chosen, read.inputs.mask).mean()) * len(rows) for one in read.choices]
            for row, answer in zip(rows, self.answers(read, len(rows)), strict=True):
                found[row] = answer
        predictions = [one for one in found if one is not None]
        chosen = sum(shares) / len(items) / len(read.choices) if shares else None
        return Results(examples, predictions, nats, tokens, chosen=chosen)

    def answers(self, read: Read, batch: int) -> list[Prediction]:
        """What was predicted for each example of a batch, without looks."""
        raise NotImplementedError

    @torch.no_grad()
    def predict(
        self,
        model: nn.Module,
        texts: Sequence[tuple[str, ...]],
        look: bool = True,
        search: Any = None,
        places: Sequence[Example] = (),
        tokens: int = 8_192,
        without: Without = (),
        features: Features = (),
    ) -> list[Prediction]:
        """Answers in the order of the texts; `look` adds where the model looked, of a feature-wise attention also in
        single `features`; `without` leaves tokens out."""
        assert isinstance(model, Reader)
        tokens = max(1, tokens // 8) if look else tokens  # weights are large: one for each pair of tokens and feature
        sides = [self.rows([text[side] for text in texts], places, side) for side in range(self.columns - 1)]
        sides = [left(rows, without, side, self.roles[side]) for side, rows in enumerate(sides)]
        device, found = next(model.parameters()).device, list[Prediction | None]([None] * len(texts))
        for rows in in_order([tuple(map(len, row)) for row in zip(*sides, strict=True)], tokens=tokens):
            inputs = [Sequences.pad([side[row] for row in rows]).to(device) for side in sides]
            read = model(inputs)
            answers = self.answers(read, len(rows))
            seen = Seen.of(read, getattr(model.encoder, "head_names", ()), features) if look else None
            for place, row in enumerate(rows):
                one, looks = answers[place], tuple[AttentionMap, ...]()
                if seen is not None:
                    columns = self._tokens(texts[row], without[row : row + 1])
                    looks = seen.attention_maps(
                        range(place, len(columns) * len(rows), len(rows)), columns, texts[row], one.text
                    )
                first = looks[0] if looks else None
                found[row] = replace(one, look=first, source="\t".join(texts[row]), looks=looks[1:])
        return [one for one in found if one is not None]

    def _tokens(self, texts: tuple[str, ...], without: Without) -> list[list[Token]]:
        """The tokens of each input, but for those that were left out."""
        return [left([self.text.tokens(text)[:-1]], without, side)[0] for side, text in enumerate(texts)]
