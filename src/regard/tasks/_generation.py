"""What tasks that generate text share: embed → encode → attend → predict, token by token.

A task of this kind is a small file that names its defaults; see `translate`.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.attend.attention import make
from regard.attend.reinforce import Reinforce
from regard.attend.score.learned_query import LearnedQuery
from regard.data.batch import in_order
from regard.errors import RegardError
from regard.fields import Input
from regard.fields.tokens import Tokens
from regard.find import PLAIN, Spec, build, call, table
from regard.measure import Results
from regard.networks.encoder_decoder import EncoderDecoder, shifted
from regard.networks.global_fertility import must_look
from regard.networks.hard_attention import must_learn, must_pass, samples
from regard.networks.teach import Teach
from regard.regions import Region
from regard.search import Hypothesis, Search, Trace, forced
from regard.search.greedy import Greedy
from regard.tasks._maps import AttentionMaps, attention_map
from regard.text import Tokenizer
from regard.train.metrics import MetricSet
from regard.train.start import Starts
from regard.train.task import Ask, Capability, Task, places
from regard.types import Batch, Example, Prediction, Sequences, Step, wide

__all__ = ["Generation"]

AXES = "target", "source"  # of an attention map


class Generation(Task):
    """An input in, a text out."""

    counts: ClassVar[str] = "tokens"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"searches", "scores", "drops_tokens"})
    role: ClassVar[str] = "source"  # what the input is called
    told: int = 0  # numbers beside the encoder's summary that a network gives its decoder
    starts: ClassVar[Starts | None] = Starts("source")
    target: Tokens

    def __init__(
        self,
        source: Input,
        target: Spec,
        encoder: Spec,
        attention: Spec,
        decoder: Spec,
        search: Spec,
        metrics: Sequence[Spec],
        best_metric: str,
        label_smoothing: float,
        teach: Spec = PLAIN,
        fertility: float = 0.0,
        reinforce: Spec = PLAIN,
        doubly_stochastic: float = 0.0,
    ) -> None:
        self.inputs, self.target = {self.role: source}, call(Tokens, table(target))
        self.metrics = MetricSet(metrics, best_metric)
        self.options: dict[str, Any] = {"encoder": encoder, "decoder": decoder, "attention": table(attention)}
        self.teach: Teach = call(Teach, table(teach))
        self.fertility, self.reinforce, self.label_smoothing = fertility, table(reinforce), label_smoothing
        self.doubly_stochastic = doubly_stochastic
        self.search: Search = build("search", search)

    @property
    def source(self) -> Input:
        return self.inputs[self.role]

    # --- the network -------------------------------------------------------------------------------------

    @property
    def answer_text(self) -> Tokenizer:
        """The tokenizer of the answers, for search constraints."""
        return self.target.text

    def network(self) -> EncoderDecoder:
        embed = self.source.embedding()
        encoder = build("encode", self.options["encoder"], inputs=embed.size)
        decoder = build(
            "predict.generate",
            self.options["decoder"],
            vocab=len(self.target.text),
            memory=encoder.size,
            summary=encoder.summary + self.told,
            attention=partial(call, make, self.options["attention"]),
        )
        if any(isinstance(part, LearnedQuery) for part in decoder.modules()):
            raise RegardError("score learned_query in a decoder", expected="a score that takes a query")
        for name in ("fertility", "doubly_stochastic"):
            if weight := getattr(self, name):
                must_look(decoder, f"{name}={weight}")
                must_pass(decoder, f"{name}={weight}")
        if self.teach.disturbs and not embed.vocab:
            raise RegardError(
                "teach.source_dropout, teach.source_replace or teach.source_swap", expected="a source of tokens"
            )
        must_learn(encoder, "encoder.normalizer")
        must_learn(decoder, "attention.normalizer", reinforced=True, inner="decoder.normalizer")
        if encoder.selects:
            raise RegardError(
                f"encoder={type(encoder).__name__.lower()} selects tokens, which this task cannot train",
                expected="an encoder that reads all tokens, such as disan",
                do="classify, entail, relate and tag can train it",
            )
        reinforce = call(Reinforce, self.reinforce, size=encoder.size) if samples(decoder) else None
        parts = (embed, encoder, decoder, self.fertility, reinforce, self.teach, self.label_smoothing)
        return EncoderDecoder(*parts, self.doubly_stochastic)

    # --- predictions -------------------------------------------------------------------------------------

    def room(self, source: int) -> int:
        """How many tokens an answer may have, by the number of source positions."""
        return min(self.target.max_length, 2 * source + 20)

    @torch.no_grad()
    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        ask = Ask(look=any(example.links for example in examples), search=Greedy() if quick else search)
        answers = self.predict(network, [e.inputs for e in examples], ask, [e.where for e in examples])
        nats, tokens, right = 0.0, 0, 0
        items, device = self.items(examples), next(network.parameters()).device
        for rows in in_order([item.lengths for item in items], tokens=16_384):
            logits, target = _forced(network, self.collate([items[row] for row in rows]).to(device))
            losses = cross_entropy(
                wide(logits).transpose(1, 2), target.values, ignore_index=Tokenizer.pad, reduction="sum"
            )
            nats += float(losses)
            right += int(((logits.argmax(-1) == target.values) & target.mask).sum())
            tokens += int(target.lengths.sum())
        read = [] if quick else self._read(network, examples)
        return Results(examples, answers, nats, tokens, right, read=read)

    def _read(self, network: nn.Module, examples: Sequence[Example]) -> list[Prediction]:
        """The true targets with where the model looks as it reads them, if it is known where it should."""
        if not all(example.grounding for example in examples):
            return []
        return self.score(network, [(*e.inputs, e.target) for e in examples], Ask(), [e.where for e in examples])

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Predictions in the order of the texts, each with its n-best list."""
        assert isinstance(network, EncoderDecoder)
        encoded = [row for (row,) in self.rows(texts, ask, places(texts, where))]
        found, steps = self.searched(network, encoded, ask)
        columns = self._columns(texts, ask) if ask.look else [()] * len(texts)
        maps = AttentionMaps([one for best in found for one in best], network.decoder.head_names, AXES)
        answers = []
        for row, (text, best) in enumerate(zip(texts, found, strict=True)):
            drawn = self.source.source(text[0]) if ask.look else ""  # a picture is read for this
            others = [self._prediction(text[0], one, columns[row], maps, drawn) for one in best[1:]]
            more = {"others": tuple(others), "steps": steps.get(row, ())}
            answers.append(self._prediction(text[0], best[0], columns[row], maps, drawn, **more))
        return answers

    def searched(
        self, network: EncoderDecoder, encoded: Sequence[Any], ask: Ask
    ) -> tuple[list[list[Hypothesis]], dict[int, tuple[tuple[Step, ...], ...]]]:
        """The n-best list of each encoded source, and the steps of the search where they were asked for."""
        field, found = self.source, [list[Hypothesis]()] * len(encoded)
        lengths = [field.length(row) for row in encoded]
        device = next(network.parameters()).device
        steps: dict[int, tuple[tuple[Step, ...], ...]] = {}
        for rows in in_order([(length, length) for length in lengths], tokens=ask.batch_tokens):
            watched = Trace() if ask.trace else None
            hypotheses = (ask.search or self.search)(
                network.steps,
                network.encode(field.collate([encoded[row] for row in rows]).to(device)),
                start=Tokenizer.start,
                end=Tokenizer.end,
                max_length=torch.tensor([self.room(lengths[row]) for row in rows], device=device),
                weights=ask.look,
                banned=(Tokenizer.pad, Tokenizer.unknown, Tokenizer.start),
                trace=watched,
            )
            for row, best in zip(rows, hypotheses, strict=True):
                found[row] = best
            if watched is not None:
                steps |= zip(rows, watched.steps(self.target.text.pieces), strict=True)
        return found, steps

    def _columns(self, texts: Sequence[Sequence[str]], ask: Ask) -> list[tuple[Region, ...]]:
        """What the positions of each source stand for, without those that were dropped."""
        regions = self.source.regions([text[0] for text in texts])
        dropped = [drop[0] for drop in ask.drop_tokens] or [()] * len(texts)
        return [self.source.remaining(one, out) for one, out in zip(regions, dropped, strict=True)]

    def _prediction(
        self, source: str, found: Hypothesis, columns: tuple[Region, ...], maps: AttentionMaps, drawn: str, **more: Any
    ) -> Prediction:
        text, rows = self.target.text.written(found.tokens)
        looked = maps(found, tuple(rows), columns, self.source.title(source), drawn)
        return Prediction(text, found.log_prob, looked, source, log_prob_per_token=found.log_prob_per_token, **more)

    @torch.no_grad()
    def score(
        self, network: nn.Module, rows: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Given targets beside their sources: how likely each is and each of its tokens, and where the decoder looked
        while it read them."""
        assert isinstance(network, EncoderDecoder)
        where, field = places(rows, where), self.source
        sources = field.encode([row[0] for row in rows], where, self.role)
        targets = self.target.encode([row[1] for row in rows], where, "target")
        written = self.target.text.tokens_all([row[1] for row in rows])
        lengths = [(field.length(s), len(t)) for s, t in zip(sources, targets, strict=True)]
        found: dict[int, Hypothesis] = {}
        device = next(network.parameters()).device
        for some in in_order(lengths, tokens=ask.batch_tokens):
            memory = network.encode(field.collate([sources[row] for row in some]).to(device))
            read = forced(
                network.decoder, memory, [targets[row] for row in some], start=Tokenizer.start, weights=ask.look
            )
            found |= zip(some, read, strict=True)
        columns = self._columns(rows, ask) if ask.look else [()] * len(rows)
        answers = []
        for row, (source, target) in enumerate(rows):
            one, said = found[row], written[row]
            shown = field.title(source), field.source(source) if ask.look else ""
            looked = attention_map(one, said, columns[row], *shown, network.decoder.head_names, AXES)
            each, mean = tuple(zip(said, one.each, strict=True)), one.log_prob_per_token
            answers.append(Prediction(target, one.log_prob, looked, source, tokens=each, log_prob_per_token=mean))
        return answers


def _forced(network: nn.Module, batch: Batch) -> tuple[Tensor, Sequences]:
    assert isinstance(network, EncoderDecoder)
    assert isinstance(batch.target, Sequences)
    _, logits = network.decoder.unroll(network.encode(batch.source), shifted(batch.target))
    return logits, batch.target
