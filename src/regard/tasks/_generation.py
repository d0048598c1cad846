"""What all tasks share that answer a text with a text: encode → attend → predict, token by token.

A task of this kind is a small file that names its defaults; see `translate`.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.attend.attention import make
from regard.attend.reinforce import Reinforce
from regard.attend.score.learned_query import LearnedQuery
from regard.data.batch import in_order
from regard.errors import RegardError
from regard.find import PLAIN, In, Of, Spec, build, call, table
from regard.measure import Results
from regard.ranges import BelowOne, Dropout, Length, LengthOrNone, NonNegative, Width, ranged
from regard.search import Hypothesis, Search, Trace
from regard.search.greedy import Greedy
from regard.tasks._encoder_decoder import EncoderDecoder
from regard.tasks._fertility import must_look
from regard.tasks._given import AttentionMaps, attention_map, read
from regard.tasks._measured import Measured
from regard.tasks._sampled import drawing, must_learn, must_pass, samples, taught
from regard.tasks._without import Without, left
from regard.text import Text
from regard.train.task import Item, Loss
from regard.train.teach import Teach
from regard.types import Batch, Example, Look, Prediction, Sequences, Step, Token, wide

__all__ = ["Generation", "SampledAttention", "Searching", "Teaching"]

# Options that several tasks have.
SampledAttention = Annotated[
    Spec, Of("attend.reinforce.Reinforce"), "how attention that samples is trained (attention.normalizer=sample)"
]
Searching = Annotated[Spec, In("search"), "how answers are searched for; validation during training is always greedy"]
Teaching = Annotated[
    Spec, Of("train.teach.Teach"), "how the decoder is trained: scheduled sampling, word dropout, a noisy source"
]

Row = TypeVar("Row", list[int], tuple[Token, ...])


class Generation(Measured):
    """A text in, a text out."""

    name: ClassVar[str]
    columns: ClassVar[int] = 2
    counts: ClassVar[str] = "tokens"
    notes: Sequence[str] = ()

    @ranged
    def __init__(
        self,
        source: Spec,
        target: Spec,
        embed: Width,
        encoder: Spec,
        attention: Spec,
        decoder: Spec,
        search: Spec,
        metrics: Sequence[Spec],
        best_metric: str,
        label_smoothing: BelowOne,
        dropout: Dropout,
        max_length: Length,
        teach: Spec = PLAIN,
        fertility: NonNegative = 0.0,
        reinforce: Spec = PLAIN,
        truncate: LengthOrNone = 0,
    ) -> None:
        super().__init__(metrics, best_metric)
        self.fertility, self.reinforce = fertility, table(reinforce)
        self.teach: Teach = call(Teach, table(teach))
        self.options = {"source": source, "target": target, "encoder": encoder, "decoder": decoder}
        self.attention, self.embed, self.dropout = attention, embed, dropout
        self.label_smoothing, self.max_length, self.truncate = label_smoothing, max_length, truncate
        self.search: Search = build("search", search)
        self.texts: dict[str, Text] = {}

    # --- words -------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> None:
        self.texts = {
            "source": build("text", self.options["source"]).train(example.source for example in examples),
            "target": build("text", self.options["target"]).train(example.target for example in examples),
        }

    def keep(self) -> dict[str, Any]:
        return {side: text.to_dict() for side, text in self.texts.items()}

    def restore(self, kept: dict[str, Any]) -> None:
        self.texts = {side: Text.from_dict(kept[side]) for side in ("source", "target")}

    # --- model and loss ----------------------------------------------------------------------------------

    def model(self) -> EncoderDecoder:
        encoder = build("encode", self.options["encoder"], inputs=self.embed)
        attention = partial(call, make, table(self.attention))
        decoder = build(
            "predict.generate",
            self.options["decoder"],
            vocab=len(self.texts["target"]),
            memory=encoder.size,
            summary=encoder.summary,
            attention=attention,
        )
        if any(isinstance(part, LearnedQuery) for part in decoder.modules()):
            raise RegardError(
                "score learned_query takes no query", expected="one that does: a decoder asks at each step"
            )
        if self.fertility:
            must_look(decoder, f"fertility={self.fertility}")
            must_pass(decoder, f"fertility={self.fertility}")
        must_learn(encoder, "encoder.normalizer")
        must_learn(decoder, "attention.normalizer", reinforced=True, inner="decoder.normalizer")
        if encoder.chooses:
            raise RegardError(
                f"encoder={type(encoder).__name__.lower()} chooses its tokens, which nothing teaches it here",
                expected="one that reads them all",
                do="as disan; classify, entail, relate and tag can teach it",
            )
        reinforce = call(Reinforce, self.reinforce, size=encoder.size) if samples(decoder) else None
        vocab, fertile = len(self.texts["source"]), self.fertility > 0
        return EncoderDecoder(vocab, self.embed, self.dropout, encoder, decoder, fertile, reinforce)

    def items(self, examples: Sequence[Example]) -> list[Item]:
        sources = self._truncated(self.texts["source"].encode_all([example.source for example in examples]))
        targets = self.texts["target"].encode_all([example.target for example in examples])
        for example, source, target in zip(examples, sources, targets, strict=True):
            self._fits(max(len(source), len(target)), example.where)
        return [Item((source,), target) for source, target in zip(sources, targets, strict=True)]

    def _truncated(self, sources: list[Row]) -> list[Row]:
        """The first tokens of each source, and its end; the very same list where nothing is truncated."""
        most = self.truncate
        return [one[: most - 1] + one[-1:] if len(one) > most else one for one in sources] if most else sources

    def _fits(self, tokens: int, where: str) -> None:
        if tokens > self.max_length:
            raise RegardError(
                f"{where}: {tokens:,} tokens",
                expected=f"at most {self.max_length:,}",
                do=f"shorten it, or train with max_length={tokens}",
            )

    def collate(self, items: Sequence[Item]) -> Batch:
        source = Sequences.pad([item.inputs[0] for item in items])
        return Batch((source,), Sequences.pad([item.target for item in items]))

    def on_step(self, model: nn.Module, progress: float) -> None:
        if isinstance(model, EncoderDecoder):
            model.progress = progress
            model.encoder.on_step(progress)

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Cross entropy of each true token after what the decoder was shown before it (see `Teach`), smoothed; where
        asked for, how unlikely the fertilities of the source tokens are; and where the decoder drew what it looked at,
        what teaches that (see `regard.tasks._sampled`)."""
        return self._taught(model, batch)[0]

    def _taught(self, model: nn.Module, batch: Batch) -> tuple[Loss, Look]:
        """The loss and where the decoder looked; only in training is the source disturbed and the truth withheld. Where
        sentences are read several times, to measure one draw by another, the loss is the mean over these."""
        assert isinstance(model, EncoderDecoder)
        target, before = self._before(batch)
        count, copies = int(target.lengths.sum()), 1 if model.reinforce is None else model.reinforce.copies
        teach = self.teach if model.training else Teach()
        memory = model.encode(teach.source(batch.source, len(self.texts["source"])))
        if copies > 1:  # they are encoded once
            rows = torch.arange(len(before), device=before.device).repeat(copies)
            memory, target, before = memory.select(rows), target.select(rows), before[rows]
        with drawing(model.reinforce, model.decoder, memory) as kept:
            look, logits, noted = teach.unroll(model.decoder, memory, before, model.progress)
        if model.training and self.label_smoothing:
            noted = {"label_smoothing": self.label_smoothing, **noted}
        notes = {name: torch.tensor(number) for name, number in noted.items()}
        nats = cross_entropy(
            wide(logits.flatten(0, 1)),
            target.values.flatten(),
            ignore_index=Text.pad,
            reduction="sum" if model.reinforce is None else "none",
            label_smoothing=self.label_smoothing,
        )
        total, shown = nats.sum(), None
        if model.fertility is not None:
            unlikely, tokens = model.fertility(memory, look, target.mask)
            total = total + self.fertility * unlikely
            notes["fertility"] = (unlikely / tokens).detach()
        if model.reinforce is not None:
            # A token that is said may be shown to later steps, and tell them what was seen.
            carries = model.decoder.carries or teach.scheduled_sampling != "none"
            steps = nats.reshape(target.values.shape), target.mask, carries
            policy, told = taught(model.reinforce, look, *steps, memory, kept, copies)
            total, shown = (total + policy) / copies, total.detach() / copies
            notes |= told
        return Loss(total, count, notes, shown), look

    def _before(self, batch: Batch) -> tuple[Sequences, Tensor]:
        """The target, and the tokens before each of its own."""
        target = batch.target
        assert isinstance(target, Sequences)
        first = torch.full_like(target.values[:, :1], Text.start)
        return target, torch.cat([first, target.values[:, :-1]], dim=1)

    def _forced(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Sequences]:
        assert isinstance(model, EncoderDecoder)
        target, before = self._before(batch)
        _, logits = model.decoder.unroll(model.encode(batch.source), before)
        return logits, target

    # --- answers -----------------------------------------------------------------------------------------

    def room(self, source: int) -> int:
        """How many tokens an answer may have, by the number of source tokens."""
        return min(self.max_length, 2 * source + 20)

    @torch.no_grad()
    def results(
        self, model: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        look = any(example.links for example in examples)
        answers = self.predict(
            model, [(e.source,) for e in examples], look=look, search=Greedy() if quick else search, places=examples
        )
        nats, tokens, right = 0.0, 0, 0
        items, device = self.items(examples), next(model.parameters()).device
        for rows in in_order([item.lengths for item in items], tokens=16_384):
            logits, target = self._forced(model, self.collate([items[row] for row in rows]).to(device))
            losses = cross_entropy(wide(logits).transpose(1, 2), target.values, ignore_index=Text.pad, reduction="sum")
            nats += float(losses)
            right += int(((logits.argmax(-1) == target.values) & target.mask).sum())
            tokens += int(target.lengths.sum())
        return Results(examples, answers, nats, tokens, right)

    @torch.no_grad()
    def predict(
        self,
        model: nn.Module,
        texts: Sequence[tuple[str, ...]],
        look: bool = True,
        search: Search | None = None,
        places: Sequence[Example] = (),
        tokens: int = 8_192,
        trace: bool = False,
        without: Without = (),
    ) -> list[Prediction]:
        """Answers in the order of the texts, each with its n-best list; `look` adds where the model looked, and
        `trace` the steps of the search; `without` leaves source tokens out."""
        assert isinstance(model, EncoderDecoder)
        whole, reader = [text[0] for text in texts], self.texts["source"]
        unseen: list[tuple[Token, ...]] = [()] * len(texts)
        sources, seen = reader.read_all(whole) if look else (reader.encode_all(whole), unseen)
        sources, seen = self._truncated(sources), self._truncated(seen)
        for row, source in enumerate(sources):
            self._fits(len(source), places[row].where if places else f"input {row + 1}")
        sources = left(sources, without, 0, "source")
        device, found = next(model.parameters()).device, [list[Hypothesis]()] * len(texts)
        steps: dict[int, tuple[tuple[Step, ...], ...]] = {}
        for rows in in_order([(len(source), len(source)) for source in sources], tokens=tokens):
            batch, watched = Sequences.pad([sources[row] for row in rows]), Trace() if trace else None
            longest = torch.tensor([self.room(len(sources[row])) for row in rows], device=device)
            hypotheses = (search or self.search)(
                model.decoder,
                model.encode(batch.to(device)),
                start=Text.start,
                end=Text.end,
                max_length=longest,
                weights=look,
                banned=(Text.pad, Text.unknown, Text.start),
                trace=watched,
            )
            for row, best in zip(rows, hypotheses, strict=True):
                found[row] = best
            if watched is not None:
                steps |= zip(rows, watched.steps(self.texts["target"].pieces), strict=True)
        columns = left(seen, without, 0) if look and without else seen
        attention_maps = AttentionMaps([one for best in found for one in best], model.decoder.head_names)
        answers = [
            self._answer(text, best, tuple(own), attention_maps)
            for text, best, own in zip(whole, found, columns, strict=True)
        ]
        return [replace(answer, steps=steps[row]) for row, answer in enumerate(answers)] if trace else answers

    def _answer(
        self, source: str, found: Sequence[Hypothesis], columns: tuple[Token, ...], attention_maps: AttentionMaps
    ) -> Prediction:
        first, *others = found
        rest = tuple([self._prediction(source, one, columns, attention_maps) for one in others])
        return self._prediction(source, first, columns, attention_maps, rest)

    def _prediction(
        self,
        source: str,
        found: Hypothesis,
        columns: tuple[Token, ...],
        attention_maps: AttentionMaps,
        others: tuple[Prediction, ...] = (),
    ) -> Prediction:
        text, rows = self.texts["target"]._write(found.tokens)  # its text and its pieces in one go
        looked, mean = attention_maps(found, tuple(rows), columns, source), found.log_prob_per_token
        return Prediction(text, found.log_prob, looked, source, others, log_prob_per_token=mean)

    @torch.no_grad()
    def score(
        self,
        model: nn.Module,
        rows: Sequence[tuple[str, ...]],
        look: bool = True,
        places: Sequence[Example] = (),
        tokens: int = 8_192,
    ) -> list[Prediction]:
        """Targets that are given beside their sources, in order: how likely each is and each of its tokens, and with
        `look` where the model looked while it read them."""
        assert isinstance(model, EncoderDecoder)
        texts = {side: [row[place] for row in rows] for place, side in enumerate(("source", "target"))}
        ids = {side: self.texts[side].encode_all(texts[side]) for side in texts}
        ids["source"] = self._truncated(ids["source"])
        for row, both in enumerate(zip(*ids.values(), strict=True)):
            self._fits(max(map(len, both)), places[row].where if places else f"input {row + 1}")
        seen = {side: self.texts[side].tokens_all(texts[side]) for side in texts}
        seen["source"] = self._truncated(seen["source"])
        answers = []
        for row, one in enumerate(read(model, ids["source"], ids["target"], look, tokens)):
            (source, target), said = rows[row], seen["target"][row]
            looked = attention_map(one, said, seen["source"][row], source, model.decoder.head_names)
            each = tuple(zip(said, one.each, strict=True))
            mean = one.log_prob_per_token
            answers.append(Prediction(target, one.log_prob, looked, source, tokens=each, log_prob_per_token=mean))
        return answers
