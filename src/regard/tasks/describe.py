"""Describe: fields with their values → a text that says them. "name[Blue Spice], area[riverside]" → "Blue Spice is …".

With nothing given it learns to write weather forecasts from made records, for places it has never met. Records are
written as `name[value], name[value]` (the form of the E2E challenge, Novikova et al. 2017, whose CSV is known by its
columns) or as a JSON object, one a line.

`delexicalise` names the fields whose values are set aside for a placeholder in record and text, and put back in the
answer (Wen et al. 2015): so names that were never seen can be said. Where a text does not mention such a value, there
is nothing to set aside in it. What the model looks at, and what measures see, is with the values.

`rerank` takes, of the finished hypotheses of a beam search, the one that says most values of the record, and among
equals the likeliest (after Dušek & Jurčíček 2016, who count with a classifier; here a value counts where it stands as
it is). Fields whose values fewer than half of the training texts repeat, as the "yes" of familyFriendly[yes], do not
count.

    regard train describe --data e2e 'delexicalise=["name", "near"]'
    echo '{"name": "Blue Spice", "area": "riverside"}' | regard predict runs/describe
"""

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from torch import nn

from regard.errors import RegardError
from regard.find import PLAIN, In, Of, Spec, nearest
from regard.look.attention_map import AttentionMap
from regard.ranges import Dropout, Length, Width
from regard.search import Search
from regard.search.beam import Beam
from regard.tasks._generation import Generation, SampledAttention, Searching, Teaching
from regard.tasks._measured import BestMetric, LabelSmoothing, Metrics
from regard.tasks._sampled import REINFORCE
from regard.tasks._without import Without
from regard.text._fields import mentions, parse, write
from regard.text._placeholders import PutBack, hide, put_back, set_aside
from regard.train.suggest import Recipe, generation
from regard.train.task import Item
from regard.types import Example, Prediction

__all__ = ["Describe"]

COUNTED = 10_000  # examples looked at for fields whose values are repeated
ENCODER: Spec = {"name": "recurrent", "hidden": 256, "layers": 1, "dropout": 0.3}
DECODER: Spec = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.3}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax"}


class Describe(Generation):
    """Fields in, a text about them out."""

    name: ClassVar[str] = "describe"
    known: ClassVar[tuple[tuple[str, ...], ...]] = (("mr", "ref"), ("meaning_representation", "human_reference"))
    default_data: ClassVar[str] = "builtin:tables"
    recipe: ClassVar[Recipe] = staticmethod(generation)
    preset: ClassVar[dict[str, Any]] = {
        "source": {"name": "word", "split": "punctuation"},
        "target": {"name": "word", "split": "punctuation"},
        "delexicalise": ["place"],
        "best_metric": "exact_match",
        "embed": 64,
        "encoder": {"name": "recurrent", "hidden": 96, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 64, "hidden": 128, "place": "after", "feed": False, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 64}},
        "dropout": 0.0,
        "label_smoothing": 0.0,
        "train": {"epochs": 4, "time": "120s", "batch_tokens": 2048, "lr": 8e-3, "warmup": 50, "ema": 0.99},
    }

    def __init__(
        self,
        source: Annotated[Spec, In("text"), "how the record is split into tokens"] = "bpe",
        target: Annotated[Spec, In("text"), "how the text is split into tokens"] = "bpe",
        delexicalise: Annotated[
            tuple[str, ...], "fields whose values become placeholders and are put back in the answer"
        ] = (),
        rerank: Annotated[bool, "take the hypothesis of a beam search that mentions the most values"] = True,
        embed: Annotated[Width, "size of the record embeddings"] = 256,
        encoder: Annotated[Spec, In("encode"), "how the record is read"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the record"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "how the text is written"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = (
            "exact_match",
            "slots",
            "perplexity",
            "bleu",
            "chrf",
            "meteor",
            "alignment",
        ),
        best_metric: BestMetric = "chrf",
        label_smoothing: LabelSmoothing = 0.1,
        dropout: Annotated[Dropout, "dropout on the record embeddings"] = 0.3,
        max_length: Annotated[Length, "longest record or text, in tokens"] = 1024,
        teach: Teaching = PLAIN,
        reinforce: SampledAttention = REINFORCE,
    ) -> None:
        parts = (source, target, embed, encoder, attention, decoder, search, metrics, best_metric)
        super().__init__(*parts, label_smoothing, dropout, max_length, teach, reinforce=reinforce)
        self.delexicalise, self.rerank = delexicalise, rerank
        self.repeated: frozenset[str] = frozenset()  # fields whose values texts repeat

    def learn(self, examples: Sequence[Example]) -> None:
        self.repeated = _repeated(examples[:COUNTED])
        if self.delexicalise:
            known = {field.name for example in examples for field in parse(example.source, example.where)}
            for name in self.delexicalise:
                if name not in known:
                    raise RegardError(f"delexicalise: no record has a field {name!r}", do=nearest(name, known))
        super().learn([self._hidden(example) for example in examples])

    def keep(self) -> dict[str, Any]:
        return {**super().keep(), "repeated": sorted(self.repeated)}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.repeated = frozenset(map(str, kept["repeated"]))

    def items(self, examples: Sequence[Example]) -> list[Item]:
        return super().items([self._hidden(example) for example in examples])

    def _hidden(self, example: Example) -> Example:
        """Record and text as the network knows them."""
        source, values = self._record(example.source, example.where)
        return Example((source,), hide(example.target, values), example.where)

    def _record(self, text: str, where: str) -> tuple[str, dict[str, str]]:
        """The record in one form, and the values that were set aside, by placeholder."""
        fields, values = set_aside(parse(text, where), self.delexicalise)
        return write(fields), values

    def _records(self, rows: Sequence[tuple[str, ...]], places: Sequence[Example]) -> list[tuple[str, dict[str, str]]]:
        """The record that each row begins with; `places` says where each was read."""
        where = [one.where for one in places] or [f"input {row}" for row in range(1, len(rows) + 1)]
        return [self._record(row[0], at) for row, at in zip(rows, where, strict=True)]

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
        """Answers in the order of the records, with every value put back."""
        records, search = self._records(texts, places), search or self.search
        several = search
        if self.rerank and isinstance(search, Beam):
            several = copy(search)
            several.n_best = search.beam_size
        found = super().predict(
            model, [(source,) for source, _ in records], look, several, places, tokens, trace, without
        )
        answers = [
            replace(_whole(one, put_back(source, values), values), source=text[0])
            for one, text, (source, values) in zip(found, texts, records, strict=True)
        ]
        if several is search:
            return answers
        assert isinstance(search, Beam)
        return [self._reranked(one, search.n_best) for one in answers]

    def _reranked(self, prediction: Prediction, most: int) -> Prediction:
        """The hypothesis that says most values first, and at most so many."""
        values = [mentions(value) for name, value in parse(prediction.source) if name in self.repeated]
        every = [replace(prediction, others=(), steps=()), *prediction.others]
        first, *others = sorted(every, key=lambda one: -sum(bool(value.search(one.text)) for value in values))[:most]
        return replace(first, others=tuple(others), steps=prediction.steps, source=prediction.source)

    def score(
        self,
        model: nn.Module,
        rows: Sequence[tuple[str, ...]],
        look: bool = True,
        places: Sequence[Example] = (),
        tokens: int = 8_192,
    ) -> list[Prediction]:
        """Given texts about their records; a value that was set aside counts as its placeholder."""
        records = self._records(rows, places)
        hidden = [(source, hide(row[1], values)) for row, (source, values) in zip(rows, records, strict=True)]
        found = super().score(model, hidden, look, places, tokens)
        return [
            replace(_whole(one, put_back(source, values), values), source=row[0], text=row[1])
            for one, row, (source, values) in zip(found, rows, records, strict=True)
        ]


def _repeated(examples: Sequence[Example]) -> frozenset[str]:
    """The fields whose values stand in at least half of the texts made from them."""
    met, said = Counter[str](), Counter[str]()
    for example in examples:
        for name, value in parse(example.source, example.where):
            met[name] += 1
            said[name] += bool(mentions(value).search(example.target))
    return frozenset(name for name, count in met.items() if 2 * said[name] >= count)


def _whole(prediction: Prediction, record: PutBack, values: dict[str, str]) -> Prediction:
    """A prediction, and all others beside it, with the values in text, look and steps."""
    said = put_back(prediction.text, values)
    attention_map = prediction.look
    if isinstance(attention_map, AttentionMap):
        rows, columns = tuple(map(said.token, attention_map.rows)), tuple(map(record.token, attention_map.columns))
        attention_map = replace(attention_map, rows=rows, columns=columns, title=record.text)
    others = tuple(_whole(one, record, values) for one in prediction.others)
    steps = tuple(
        tuple(replace(one, tokens=tuple(values.get(token, token) for token in one.tokens)) for one in step)
        for step in prediction.steps
    )
    tokens = tuple((said.token(token), log_prob) for token, log_prob in prediction.tokens)
    whole = {"text": said.text, "look": attention_map, "source": record.text}
    return replace(prediction, **whole, others=others, steps=steps, tokens=tokens)
