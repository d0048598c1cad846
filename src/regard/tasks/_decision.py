"""What tasks with a decision about one or two inputs share: embed → encode → pool → match → predict.

A task of this kind names its input field, its target field and its head; see `classify`, `entail`, `relate`, `tag`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

from regard.attend.bernoulli import share
from regard.attend.estimator import Estimator
from regard.attend.reinforce import Reinforce
from regard.attend.sparsity import Sparsity
from regard.data.batch import in_order
from regard.encode import Encoder
from regard.errors import RegardError
from regard.fields import Field, input_field
from regard.find import Spec, build, call, find, named, names, table
from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.networks.hard_attention import must_learn
from regard.networks.reader import Read, Reader
from regard.pool import Pool
from regard.regions import Region, joined
from regard.search import Search
from regard.tasks._reading import InputReading, implied
from regard.tasks._seen import Seen
from regard.train.metrics import MetricSet
from regard.train.start import ENCODER, Starts
from regard.train.task import Ask, Capability, Encoded, Task, places
from regard.types import Example, Prediction

__all__ = ["Decision"]


class Decision(Task):
    """One input or two in, a decision out: one for the whole, or one for each position."""

    counts: ClassVar[str] = "examples"
    roles: ClassVar[tuple[str, ...]] = ("input",)  # of the inputs, which share one field
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"drops_tokens", "features"})
    starts: ClassVar[Starts | None] = ENCODER
    target: Field
    Head: ClassVar[type[nn.Module]]  # vectors → logits, with a `loss` and `answers`
    pools: ClassVar[bool] = True  # one decision for the whole input

    def __init__(
        self,
        input: Spec,
        target: Field,
        encoder: Spec,
        head: Spec,
        reinforce: Spec,
        sparsity: Spec | float,
        metrics: Sequence[Spec],
        best_metric: str,
        dropout: float,
        pool: Spec | None = None,
        match: Spec | None = None,
        estimator: Spec = "score_function",
    ) -> None:
        field = input_field(input, end=False)
        self.reading = InputReading.of(encoder, field, len(self.roles), self.pools)
        self.inputs, self.target = dict.fromkeys(self.roles, field), target
        self.metrics = MetricSet(metrics, best_metric)
        self.options: dict[str, Any] = {"encoder": encoder, "pool": pool, "match": match, "head": head}
        self.reinforce, self.dropout = table(reinforce), dropout
        self.sparsity: Spec = {"price": sparsity} if isinstance(sparsity, int | float) else sparsity
        self.estimator: Spec = estimator

    # --- data --------------------------------------------------------------------------------------------

    @classmethod
    def implied(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """Those of a pre-trained encoder; and of one that selects tokens, what teaches its choice best."""
        encoder = options.get("encoder", "")
        name = named(encoder) if isinstance(encoder, str | Mapping) else ""
        own = find("encode", name).reinforce if name in names("encode") else {}
        return {**({"reinforce": own} if own else {}), **implied(options)}

    def learn(self, examples: Sequence[Example]) -> None:
        super().learn(examples)
        if self.went_on is None:
            self.reading.begin()

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.reading.check()

    @property
    def notes(self) -> list[str]:
        return [*super().notes, *self.reading.notes]

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        items = super().encode(examples)
        self.reading.fits([item.inputs for item in items], [example.where for example in examples])
        return items

    def rows(self, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str]) -> list[tuple[Any, ...]]:
        rows = super().rows(texts, ask, where)
        self.reading.fits(rows, where)
        return rows

    def batched(self, rows: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        return self.reading.joined(rows) if self.reading.joint else super().batched(rows)

    # --- the network -------------------------------------------------------------------------------------

    def network(self) -> Reader:
        embed, encoder = self.reading.build()
        must_learn(encoder, "encoder.normalizer")
        pool: Pool | None = None
        if self.pools:
            spec = encoder.pool if self.options["pool"] is None else self.options["pool"]
            pool = build("pool", spec, inputs=encoder.size, summary=encoder.summary)
            must_learn(pool, "pool.normalizer", reinforced=pool.chooses)
        match, size = None, encoder.size if pool is None else pool.size
        if self.options["match"] is not None and not self.reading.joint:
            match = build("predict.match", self.options["match"], inputs=size, rows=1 if pool is None else pool.rows)
            size = match.size
        head = call(self.Head, self.options["head"], inputs=size, labels=len(self.target.names))
        reinforce = self._reinforce(embed.size, encoder, pool)
        parts = (embed, encoder, pool, match, head, reinforce, self.dropout)
        return Reader(*parts, *self._choosing(embed.size, encoder, reinforce))

    def save_pretrained(self, network: nn.Module, folder: Path) -> Path:
        assert isinstance(network, Reader)
        if not self.reading.pretrained:
            return super().save_pretrained(network, folder)
        return self.reading.save(network.embed, network.encoder, folder)

    def _reinforce(self, size: int, encoder: Encoder, pool: Pool | None) -> Reinforce | None:
        """What teaches a choice of tokens, where there is one."""
        samples = pool is not None and pool.chooses
        if not (encoder.selects or samples):
            return None
        found: Reinforce = call(Reinforce, {**encoder.reinforce, **self.reinforce}, size=size * len(self.inputs))
        if found.expected and not samples:
            raise RegardError(
                f"reinforce.expected={found.expected} and nothing that has an expected value",
                expected="a pooling that samples",
                do="add pool=attention pool.normalizer=sample, or remove it",
            )
        return found

    def _choosing(
        self, size: int, encoder: Encoder, reinforce: Reinforce | None
    ) -> tuple[Sparsity | None, Estimator | None]:
        """What tokens cost and how their choice is learned, where an encoder selects."""
        if not encoder.selects or reinforce is None:
            return None, None
        given = {"size": size * len(self.inputs), "samples": reinforce.copies}
        return call(Sparsity, table(self.sparsity), policies=len(encoder.policy_names)), build(
            "attend.estimator", self.estimator, **given
        )

    # --- predictions -------------------------------------------------------------------------------------

    def _answers(self, network: Reader, read: Read, rows: int) -> list[Prediction]:
        """What was predicted for each example of a batch, without attention maps."""
        lengths = read.lengths[:rows].tolist()
        return network.head.answers(read.logits, lengths, self.target.names)  # type: ignore[operator,no-any-return]

    @torch.no_grad()
    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        assert isinstance(network, Reader)
        items, device = self.items(examples), next(network.parameters()).device
        found: list[Prediction | None] = [None] * len(items)
        nats, tokens, shares = 0.0, 0, dict[str, float]()
        for rows in in_order([item.lengths for item in items], tokens=16_384):
            batch = self.collate([items[row] for row in rows]).to(device)
            read = network.read(batch.inputs, narrow=True)
            nats += float(network.head.loss(read.logits, batch.target).sum())  # type: ignore[operator]
            tokens += network.count(batch)
            for one in read.choices:
                part = float(share(one.chosen, read.inputs.mask).mean()) * len(rows) / len(items)
                shares[one.name] = shares.get(one.name, 0.0) + part
            for row, answer in zip(rows, self._answers(network, read, len(rows)), strict=True):
                found[row] = answer
        predictions = [one for one in found if one is not None]
        chosen = sum(shares.values()) / len(shares) if shares else None
        return Results(examples, predictions, nats, tokens, chosen=chosen, policies=shares)

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        assert isinstance(network, Reader)
        # Weights are large: one for each pair of tokens and feature.
        tokens = max(1, ask.batch_tokens // 8) if ask.look else ask.batch_tokens
        encoded = self.rows(texts, ask, places(texts, where))
        fields = list(self.inputs.values())
        lengths = [[field.length(row) for field, row in zip(fields, rows, strict=True)] for rows in encoded]
        device, found = next(network.parameters()).device, list[Prediction | None]([None] * len(texts))
        for rows in in_order([tuple(one) for one in lengths], tokens=tokens):
            inputs = [one.to(device) for one in self.batched([encoded[row] for row in rows])]
            read = network.read(inputs, narrow=not ask.look)
            answers = self._answers(network, read, len(rows))
            seen = Seen.of(read, network.encoder.head_names, ask.features) if ask.look else None
            regions = self._regions([texts[row] for row in rows], read) if seen is not None else []
            for place, row in enumerate(rows):
                one, looks = answers[place], tuple[AttentionMap, ...]()
                if seen is not None:
                    dropped = ask.drop_tokens[row] if ask.drop_tokens else [()] * len(fields)
                    columns = [
                        field.remaining(side[place], out)
                        for field, side, out in zip(fields, regions, dropped, strict=True)
                    ]
                    titles, source = self._shown(texts[row])
                    roles: tuple[str, ...] = self.roles
                    breaks: tuple[int, ...] = ()
                    if self.reading.joint:  # one text to look at, with a line between its two
                        columns, breaks = self.reading.joined_regions(columns)
                        titles, roles = [" | ".join(titles)], (" | ".join(roles),)
                    mine = range(place, len(columns) * len(rows), len(rows))
                    looks = seen.attention_maps(
                        mine, columns, titles, source, one.text, roles, self.target.kind, breaks
                    )
                first = looks[0] if looks else None
                found[row] = replace(one, look=first, looks=looks[1:], source="\t".join(texts[row]))
        return [one for one in found if one is not None]

    def _regions(self, texts: Sequence[Sequence[str]], read: Read) -> list[list[tuple[Region, ...]]]:
        """Input → example → what each position of the encoder stands for."""
        sides = [field.regions([text[side] for text in texts]) for side, field in enumerate(self.inputs.values())]
        if read.memory.spans is None:
            return sides
        return [[joined(one, read.memory.covered(len(one))) for one in side] for side in sides]

    def _shown(self, values: Sequence[str]) -> tuple[list[str], str]:
        """The name of each input, and what is drawn under the weights where that is not text."""
        pairs = list(zip(self.inputs.values(), values, strict=True))
        return [field.title(value) for field, value in pairs], "".join(field.source(value) for field, value in pairs)
