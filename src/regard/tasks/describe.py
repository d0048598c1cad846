"""Data-to-text generation: a record → a text. "name[Blue Spice], area[riverside]" → "Blue Spice is …".

Without `--data` it learns to write weather forecasts from built-in records, for places it has never met. Records are
written as `name[value], name[value]` (the form of the E2E challenge, Novikova et al. 2017, "The E2E Dataset", whose CSV
is known by its columns) or as a JSON object, one a line.

`source.delexicalise` names the fields whose values become placeholders in record and text, and are put back in the
answer (Wen et al. 2015): so names that were never seen can be written. Attention maps and metrics show the values.

`rerank` takes, of the finished hypotheses of a beam search, the one that says most values of the record, and among
equals the likeliest (after Dušek & Jurčíček 2016, "Sequence-to-Sequence Generation for Spoken Dialogue via Deep Syntax
Trees and Strings", who count with a classifier; here a value counts where it stands as it is). Fields whose values
fewer than half of the training texts repeat, as the "yes" of familyFriendly[yes], do not count.

    regard train describe --data e2e 'source.delexicalise=["name", "near"]'
    echo '{"name": "Blue Spice", "area": "riverside"}' | regard predict runs/describe
"""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from torch import nn

from regard.fields.record import Record
from regard.find import PLAIN, In, Of, Spec, call, table
from regard.look.attention_map import AttentionMap
from regard.networks.hard_attention import REINFORCE
from regard.ranges import ranged
from regard.records import mentions, parse
from regard.records.placeholders import hide, put_back
from regard.regions import Region, Token
from regard.search.beam import Beam
from regard.tasks._generation import Generation
from regard.tasks._options import BestMetric, LabelSmoothing, Metrics, SampledAttention, Searching, Teaching
from regard.train.suggest import Recipe, generation
from regard.train.task import Ask, places
from regard.types import Example, Prediction

__all__ = ["Describe"]

COUNTED = 10_000  # examples looked at for fields whose values are repeated
RECORD: Spec = {"embed": {"dim": 256, "dropout": 0.3}}
ENCODER: Spec = {"name": "recurrent", "hidden": 256, "layers": 1, "dropout": 0.3}
DECODER: Spec = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.3}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax"}


class Describe(Generation):
    """Data-to-text generation: a record in, a text about it out."""

    name: ClassVar[str] = "describe"
    does: str = "Writes a text about {input}."
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        *(("mr", "ref"), ("meaning_representation", "human_reference"), ("record", "text")),
    )
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("record",), ("text",))
    default_data: ClassVar[str] = "builtin:tables"
    recipe: ClassVar[Recipe] = staticmethod(generation)
    preset: ClassVar[dict[str, Any]] = {
        "source": {
            "tokenizer": {"name": "word", "split": "punctuation"},
            "embed": {"dim": 64, "dropout": 0.0},
            "delexicalise": ["place"],
        },
        "target": {"tokenizer": {"name": "word", "split": "punctuation"}},
        "best_metric": "exact_match",
        "encoder": {"name": "recurrent", "hidden": 96, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 64, "hidden": 128, "place": "after", "feed": False, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 64}},
        "label_smoothing": 0.0,
        "train": {"epochs": 4, "time": "120s", "batch_tokens": 2048, "lr": 8e-3, "warmup": 50, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        source: Annotated[Spec, Of("fields.record.Record"), "the record, with its tokenizer and vectors"] = RECORD,
        target: Annotated[Spec, Of("fields.tokens.Tokens"), "the text: its tokenizer and longest length"] = PLAIN,
        rerank: Annotated[bool, "take the hypothesis of a beam search that mentions the most values"] = True,
        encoder: Annotated[Spec, In("encode"), "the encoder that reads the record"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the record"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "the decoder that writes the text"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = ("exact_match", "slots", "perplexity", "bleu", "chrf", "meteor", "alignment"),
        best_metric: BestMetric = "chrf",
        label_smoothing: LabelSmoothing = 0.1,
        teach: Teaching = PLAIN,
        reinforce: SampledAttention = REINFORCE,
    ) -> None:
        self.record: Record = call(Record, table(source), end=True)
        parts = (self.record, target, encoder, attention, decoder, search, metrics, best_metric)
        super().__init__(*parts, label_smoothing, teach, reinforce=reinforce)
        self.rerank = rerank
        self.repeated: frozenset[str] = frozenset()  # fields whose values texts repeat

    def learn(self, examples: Sequence[Example]) -> None:
        self.repeated = _repeated(examples[:COUNTED])
        super().learn(examples)

    def keep(self) -> dict[str, Any]:
        return {**super().keep(), "repeated": sorted(self.repeated)}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.repeated = frozenset(map(str, kept["repeated"]))

    def prepared(self, examples: Sequence[Example]) -> Sequence[Example]:
        """Values that are set aside in a record are set aside in its text too."""
        return [replace(one, target=hide(one.target, self._values(one.source, one.where))) for one in examples]

    def _values(self, record: str, where: str = "") -> dict[str, str]:
        return self.record.written(record, where)[1]

    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Predictions in the order of the records, with every value put back."""
        search = ask.search or self.search
        if not (self.rerank and isinstance(search, Beam)):
            return self._whole(super().predict(network, texts, ask, where), texts)
        several = copy(search)
        several.n_best = search.beam_size
        found = self._whole(super().predict(network, texts, replace(ask, search=several), where), texts)
        return [self._reranked(one, search.n_best) for one in found]

    def _reranked(self, prediction: Prediction, most: int) -> Prediction:
        """The hypothesis that says most values first, and at most so many."""
        values = [mentions(value) for name, value in parse(prediction.source) if name in self.repeated]
        every = [replace(prediction, others=(), steps=()), *prediction.others]
        first, *others = sorted(every, key=lambda one: -sum(bool(value.search(one.text)) for value in values))[:most]
        return replace(first, others=tuple(others), steps=prediction.steps, source=prediction.source)

    def score(
        self, network: nn.Module, rows: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Given texts about their records; a value that was set aside counts as its placeholder."""
        named = zip(rows, places(rows, where), strict=True)
        hidden = [(record, hide(text, self._values(record, at))) for (record, text), at in named]
        found = self._whole(super().score(network, hidden, ask, where), rows)
        return [replace(one, text=row[1]) for one, row in zip(found, rows, strict=True)]

    def _whole(self, found: Sequence[Prediction], texts: Sequence[Sequence[str]]) -> list[Prediction]:
        values = [self._values(text[0]) for text in texts]
        return [_put_back(one, some) if some else one for one, some in zip(found, values, strict=True)]


def _repeated(examples: Sequence[Example]) -> frozenset[str]:
    """The fields whose values stand in at least half of the texts made from them."""
    met, said = Counter[str](), Counter[str]()
    for example in examples:
        for name, value in parse(example.source, example.where):
            met[name] += 1
            said[name] += bool(mentions(value).search(example.target))
    return frozenset(name for name, count in met.items() if 2 * said[name] >= count)


def _put_back(prediction: Prediction, values: dict[str, str]) -> Prediction:
    """A prediction, and all others beside it, with the values in text, look and steps."""
    said = put_back(prediction.text, values)

    def region(one: Region) -> Region:
        return said.token(one) if isinstance(one, Token) else one

    look = prediction.look
    if isinstance(look, AttentionMap):
        look = replace(look, rows=tuple(map(region, look.rows)))
    steps = tuple(
        tuple(replace(one, tokens=tuple(values.get(token, token) for token in one.tokens)) for one in step)
        for step in prediction.steps
    )
    tokens = tuple((said.token(token), log_prob) for token, log_prob in prediction.tokens)
    others = tuple(_put_back(one, values) for one in prediction.others)
    return replace(prediction, text=said.text, look=look, others=others, steps=steps, tokens=tokens)
