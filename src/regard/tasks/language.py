"""Language modelling: a prompt → its continuation; also the likelihood of a text.

Without `--data` it learns short stories in which names, pronouns and counts agree over many words. Your own text
is read line by line; lines run on, so that what one ends with is known in the next (`running=false` where they have
nothing to do with each other). Words or pieces as `text.tokenizer` says: with `text.tokenizer=word` the Penn Treebank
is measured as in the papers; `word_perplexity` compares over all tokenizers.

    regard train language --data book.txt
    regard train language --data book.txt network=transformer
    regard train language data.train=ptb.train.txt data.valid=ptb.valid.txt data.test=ptb.test.txt text.tokenizer=word

**How running text is cut.** Zaremba, Sutskever & Vinyals 2014 and Merity, Keskar & Socher 2017, "Regularizing and
Optimizing LSTM Language Models", carry the network's state from batch to batch. Here every item stands alone, as
everywhere in regard, so that batches can be shuffled and a run can be resumed: an item is a window of `window` tokens
to be predicted with the `context` tokens before it, which are read but not counted. Every token is counted once and,
but for the beginning of the text, has at least `context` tokens before it; gradients reach back through these too. In
measuring, a network without attention gets windows and contexts four times as long, which a state can carry; what
attention looks back at is as long as in training.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import nn

from regard.data.batch import in_order
from regard.fields.text import Text
from regard.find import In, Of, Spec, build, call, table
from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.networks.hard_attention import must_learn
from regard.predict.language import LanguageModel
from regard.ranges import Length, LengthOrNone, ranged
from regard.regions import Token
from regard.search import Hypothesis, Search, Trace
from regard.tasks._options import BestMetric, Metrics
from regard.tasks._token_results import token_results
from regard.text import Tokenizer
from regard.train.metrics import MetricSet
from regard.train.start import Starts
from regard.train.suggest import Recipe, language
from regard.train.task import Ask, Capability, Encoded, Task
from regard.types import Batch, Example, Prediction, Sequences, Step, wide

__all__ = ["Language", "windows"]

TEXT: Spec = {"max_length": 200}
FARTHER = 4  # times, where only a state is carried


def windows(stream: Sequence[int], window: int, context: int) -> Iterator[tuple[list[int], list[int]]]:
    """What is read, and what is to be said after the last of it: each token of the stream but the first is said once.
    There are as many tokens more in the first as are context only."""
    for first in range(0, len(stream) - 1, window):
        last = min(first + window, len(stream) - 1)
        yield list(stream[max(0, first - context) : last]), list(stream[first + 1 : last + 1])


AXES = "token", "tokens before it"  # of an attention map


class Language(Task):
    """Language modelling: a prompt in, its continuation out (Zaremba, Sutskever & Vinyals 2014)."""

    name: ClassVar[str] = "language"
    does: str = "Continues {input}."
    counts: ClassVar[str] = "tokens"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"searches", "scores"})
    known: ClassVar[tuple[tuple[str, ...], ...]] = (("text",),)
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("text",),)
    default_data: ClassVar[str] = "builtin:stories"
    recipe: ClassVar[Recipe] = staticmethod(language)
    starts: ClassVar[Starts | None] = Starts("text", ("network", "attention"), ("",))
    preset: ClassVar[dict[str, Any]] = {
        "text": {"tokenizer": {"name": "word", "split": "punctuation"}},
        "network": {
            "name": "recurrent",
            "cell": "lstm",
            "hidden": 128,
            "layers": 1,
            "input_dropout": 0.0,
            "output_dropout": 0.0,
        },
        "attention": {"score": {"name": "additive", "hidden": 64}},
        "running": False,
        "search": "greedy",
        "train": {"epochs": 5, "time": "120s", "batch_tokens": 2048, "lr": 1e-2, "warmup": 50, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        text: Annotated[Spec, Of("fields.tokens.Tokens"), "the text: its tokenizer and longest continuation"] = TEXT,
        network: Annotated[Spec, In("predict.language"), "the language model"] = "recurrent",
        attention: Annotated[
            Spec | None,
            Of("attend.attention.make"),
            "attention to earlier tokens; none: no attention (recurrent) or the usual one (transformer)",
        ] = None,
        window: Annotated[Length, "tokens to predict in one training example"] = 100,
        context: Annotated[LengthOrNone, "tokens before each window that are read but not predicted"] = 50,
        running: Annotated[bool, "read all lines as one running text; false reads each line alone"] = True,
        search: Annotated[Spec, In("search"), "how a text is continued"] = "sample",
        metrics: Metrics = ("perplexity", "word_perplexity", "token_accuracy"),
        best_metric: BestMetric = "word_perplexity",
    ) -> None:
        self.field = call(Text, table(text), end=True)
        self.inputs, self.target, self.metrics = {"text": self.field}, None, MetricSet(metrics, best_metric)
        looks = None if attention is None else table(attention)
        self.options: dict[str, Any] = {"network": network, "attention": looks}
        self.window, self.context, self.running = window, context, running
        self.search: Search = build("search", search)

    @property
    def text(self) -> Tokenizer:
        found: Tokenizer = self.field.text
        return found

    # --- the network -------------------------------------------------------------------------------------

    def tried(self, example: Example) -> list[str]:
        """The first half of a line, so that something is left to be written."""
        words = example.source.split(" ")
        return [" ".join(words[: max(1, len(words) // 2)])]

    @property
    def answer_text(self) -> Tokenizer:
        """The tokenizer of the answers, for search constraints."""
        return self.text

    def network(self) -> LanguageModel:
        given = {"vocab": len(self.text), "attention": self.options["attention"]}
        network: LanguageModel = build("predict.language", self.options["network"], **given)
        must_learn(network, "attention.normalizer")
        return network

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        return self._windows(examples, 1)

    def _windows(self, examples: Sequence[Example], farther: int) -> list[Encoded]:
        lines = self.text.encode_all([example.source for example in examples])
        streams = [[token for line in lines for token in line]] if self.running else lines
        sizes = self.window * farther, self.context * farther
        # What is read begins with an end, that of a line before.
        return [
            Encoded((read,), said, (len(read), len(said)))
            for one in streams
            for read, said in windows([Tokenizer.end, *one], *sizes)
        ]

    def collate(self, items: Sequence[Encoded]) -> Batch:
        read = Sequences.pad([item.inputs[0] for item in items])
        return Batch((read,), Sequences.pad([item.target for item in items]))

    # --- answers -----------------------------------------------------------------------------------------

    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        """How likely the texts are; nothing is searched for, so there are no predictions."""
        assert isinstance(network, LanguageModel)
        items = self._windows(examples, FARTHER if network.carries else 1)
        return token_results(network, network.forced, examples, items, self.collate)

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Each text with what may follow it up to the end of its line."""
        model, look, trace = network, ask.look, ask.trace
        assert isinstance(model, LanguageModel)
        begun = [[Tokenizer.end, *row[:-1]] for row in self.text.encode_all([text[0] for text in texts])]
        device, found = next(model.parameters()).device, [list[Hypothesis]()] * len(texts)
        steps: dict[int, tuple[tuple[Step, ...], ...]] = {}
        for rows in in_order([len(one) + self.field.max_length for one in begun], tokens=ask.batch_tokens):
            watched = Trace() if trace else None
            hypotheses = (ask.search or self.search)(
                model,
                model.read(Sequences.pad([begun[row] for row in rows]).to(device)),
                start=Tokenizer.start,
                end=Tokenizer.end,
                max_length=torch.full((len(rows),), self.field.max_length),
                banned=(Tokenizer.pad, Tokenizer.unknown, Tokenizer.start),
                trace=watched,
            )
            for row, best in zip(rows, hypotheses, strict=True):
                found[row] = best
            if watched is not None:
                steps |= zip(rows, watched.steps(self.text.pieces), strict=True)
        answers = []
        for text, one, best in zip(texts, begun, found, strict=True):
            attention_maps = (
                self._attention_maps(model, one, best, text[0]) if look and model.looks else [None] * len(best)
            )
            first, *others = [
                self._answer(text[0], one, h, attention_map)
                for h, attention_map in zip(best, attention_maps, strict=True)
            ]
            answers.append(replace(first, source=text[0], others=tuple(others)))
        return [replace(answer, steps=steps[row]) for row, answer in enumerate(answers)] if trace else answers

    @torch.no_grad()
    def score(
        self, network: nn.Module, rows: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Given texts, each by itself: how likely each is and each of its tokens, the end among them."""
        model, look = network, ask.look
        assert isinstance(model, LanguageModel)
        texts = [row[0] for row in rows]
        ids, pieces = self.text.encode_all(texts), self.text.tokens_all(texts)
        found: dict[int, Prediction] = {}
        for some in in_order([len(one) for one in ids], tokens=ask.batch_tokens):
            read, said = (Sequences.pad(many).values.to(model.embedding.weight.device) for many in (
                [[Tokenizer.end, *ids[row][:-1]] for row in some], [ids[row] for row in some]
            ))  # fmt: skip
            seen, r = model.states(read)
            log_p = torch.log_softmax(wide(model.logits(r)), -1).gather(-1, said.unsqueeze(-1)).squeeze(-1).tolist()
            weights = seen.by_key.float().cpu().numpy() if look and seen is not None else [None] * len(some)
            for row, told, each in zip(some, log_p, weights, strict=True):
                parts = tuple(zip(pieces[row], told, strict=False))  # what is told of padding is left out
                attention_map = None if each is None else self._attention_map(model, each, pieces[row], 0, texts[row])
                total = sum(one for _, one in parts)
                mean = total / max(len(parts), 1)
                found[row] = Prediction(
                    texts[row], total, attention_map, texts[row], tokens=parts, log_prob_per_token=mean
                )
        return [found[row] for row in range(len(rows))]

    def _answer(self, text: str, begun: list[int], found: Hypothesis, attention_map: AttentionMap | None) -> Prediction:
        """The beginning as it was given, and behind it what was found."""
        before, whole = (self.text.decode(ids) for ids in (begun[1:], [*begun[1:], *found.tokens]))
        rest = whole[len(before) :]
        if rest[:1] == " " and not before.endswith(" "):
            text = text.rstrip(" ")
        mean = found.log_prob_per_token
        return Prediction(text + rest, found.log_prob, attention_map, text, log_prob_per_token=mean)

    def _attention_maps(
        self, model: LanguageModel, begun: list[int], found: Sequence[Hypothesis], text: str
    ) -> list[AttentionMap]:
        """Where each token that was found came from: asked once all are known, for the past grows with every step."""
        read = Sequences.pad([[*begun, *one.tokens[:-1]] for one in found])
        look, _ = model.states(read.values.to(model.embedding.weight.device))
        assert look is not None
        weights = look.by_key.float().cpu().numpy()
        attention_maps = []
        for one, each in zip(found, weights, strict=True):
            pieces = self.text.pieces([*begun[1:], *one.tokens])
            attention_maps.append(self._attention_map(model, each, pieces, len(begun) - 1, text))
        return attention_maps

    def _attention_map(
        self, model: LanguageModel, weights: np.ndarray, pieces: Sequence[Token], first: int, title: str
    ) -> AttentionMap:
        """Where each token from the `first` on came from: the tokens before it, and the end before them all."""
        length, columns = len(pieces), (Token(self.text.seen[Tokenizer.end], 0, 0), *pieces[:-1])
        shown = weights[..., first:length, :length]
        names = model.head_names
        return AttentionMap(
            shown,
            tuple(pieces[first:]),
            columns,
            title,
            head_names=names,
            panels="layers" if names else "heads",
            axes=AXES,
        )
