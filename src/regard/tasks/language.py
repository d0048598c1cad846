"""Language: text alone → a model of it, which says how likely a text is and goes on with one that was begun. 0 → n.

With nothing given it learns little stories in which names, pronouns and counts agree over many words. Your own text
is read line by line; lines run on, so that what one ends with is known in the next (`running=false` where they have
nothing to do with each other). Words or pieces as `text` says: with `text=word` the Penn Treebank is measured as in
the papers; `word_perplexity` compares over all kinds of text.

    regard train language --data book.txt
    regard train language --data book.txt network=transformer
    regard train language data.train=ptb.train.txt data.valid=ptb.valid.txt data.test=ptb.test.txt text=word

**How running text is cut.** Zaremba, Sutskever & Vinyals 2014 and Merity, Keskar & Socher 2017 carry the network's
state from batch to batch. Here every item stands alone, as everywhere in regard, so that batches can be shuffled and
a run can be resumed: an item is a window of `window` tokens to be predicted with the `context` tokens before it, which
are read but not counted. Every token is counted once and, but for the beginning of the text, has at least `context`
tokens before it; gradients reach back through these too. In measuring, a network without attention gets windows and
contexts four times as long, which a state can carry; what attention looks back at is as long as in training.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.data.batch import in_order
from regard.find import In, Of, Spec, build, table
from regard.look.attention_map import AttentionMap
from regard.measure import Results
from regard.predict.language import LanguageModel
from regard.ranges import Length, LengthOrNone, ranged
from regard.search import Hypothesis, Search, Trace
from regard.tasks._measured import BestMetric, Measured, Metrics
from regard.tasks._sampled import must_learn
from regard.text import Text
from regard.train.suggest import Recipe, language
from regard.train.task import Item, Loss
from regard.types import Batch, Example, Prediction, Sequences, Step, Token, wide

__all__ = ["Language", "windows"]

FARTHER = 4  # times, where only a state is carried


def windows(stream: Sequence[int], window: int, context: int) -> Iterator[tuple[list[int], list[int]]]:
    """What is read, and what is to be said after the last of it: each token of the stream but the first is said once.
    There are as many tokens more in the first as are context only."""
    for first in range(0, len(stream) - 1, window):
        last = min(first + window, len(stream) - 1)
        yield list(stream[max(0, first - context) : last]), list(stream[first + 1 : last + 1])


class Language(Measured):
    """Text alone in; what follows any beginning out (Zaremba, Sutskever & Vinyals 2014)."""

    name: ClassVar[str] = "language"
    columns: ClassVar[int] = 1
    counts: ClassVar[str] = "tokens"
    known: ClassVar[tuple[tuple[str, ...], ...]] = (("text",),)
    notes: Sequence[str] = ()
    default_data: ClassVar[str] = "builtin:stories"
    recipe: ClassVar[Recipe] = staticmethod(language)
    preset: ClassVar[dict[str, Any]] = {
        "text": {"name": "word", "split": "punctuation"},
        "network": {"name": "recurrent", "cell": "lstm", "hidden": 128, "layers": 1, "drop_in": 0.0, "drop_out": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 64}},
        "running": False,
        "search": "greedy",
        "train": {"epochs": 5, "time": "120s", "batch_tokens": 2048, "lr": 1e-2, "warmup": 50, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        text: Annotated[Spec, In("text"), "how the text is split into tokens"] = "bpe",
        network: Annotated[Spec, In("predict.language"), "the language model"] = "recurrent",
        attention: Annotated[
            Spec | None,
            Of("attend.attention.make"),
            "attention to earlier tokens; none: no attention (recurrent) or the usual one (transformer)",
        ] = None,
        window: Annotated[Length, "tokens predicted in one training item"] = 100,
        context: Annotated[LengthOrNone, "tokens before each window that are read but not predicted"] = 50,
        running: Annotated[bool, "read all lines as one running text; false reads each line alone"] = True,
        search: Annotated[Spec, In("search"), "how a text is continued"] = "sample",
        metrics: Metrics = (
            "perplexity",
            "word_perplexity",
            "token_accuracy",
        ),
        best_metric: BestMetric = "word_perplexity",
        max_length: Annotated[Length, "longest continuation, in tokens"] = 200,
    ) -> None:
        super().__init__(metrics, best_metric)
        self.options = {"text": text, "network": network}
        self.attention, self.window, self.context, self.running = attention, window, context, running
        self.search: Search = build("search", search)
        self.max_length = max_length
        self.text: Text

    # --- words -------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> None:
        self.text = build("text", self.options["text"]).train(example.source for example in examples)

    def keep(self) -> dict[str, Any]:
        return {"text": self.text.to_dict()}

    def restore(self, kept: dict[str, Any]) -> None:
        self.text = Text.from_dict(kept["text"])

    # --- model and loss ----------------------------------------------------------------------------------

    def model(self) -> LanguageModel:
        attention = None if self.attention is None else table(self.attention)
        given = {"vocab": len(self.text), "attention": attention}
        network: LanguageModel = build("predict.language", self.options["network"], **given)
        must_learn(network, "attention.normalizer")
        return network

    def items(self, examples: Sequence[Example]) -> list[Item]:
        return self._items(examples, 1)

    def _items(self, examples: Sequence[Example], farther: int) -> list[Item]:
        lines = self.text.encode_all([example.source for example in examples])
        streams = [[token for line in lines for token in line]] if self.running else lines
        sizes = self.window * farther, self.context * farther
        # What is read begins with an end, that of a line before.
        return [Item((read,), said) for one in streams for read, said in windows([Text.end, *one], *sizes)]

    def collate(self, items: Sequence[Item]) -> Batch:
        read = Sequences.pad([item.inputs[0] for item in items])
        return Batch((read,), Sequences.pad([item.target for item in items]))

    def on_step(self, model: nn.Module, progress: float) -> None:
        """Nothing here changes on the way."""

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Cross entropy of each token after those before it."""
        logits, said = self._forced(model, batch)
        return Loss(cross_entropy(logits, said, reduction="sum"), len(said))

    def _forced(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Int[Tensor, " some"]]:
        """Logits of what is to be said, row after row, and what it is; for context only none are worked out."""
        assert isinstance(model, LanguageModel)
        assert isinstance(batch.target, Sequences)
        read, target = batch.source, batch.target
        _, r = model(read.values)
        # From lengths, which are on the CPU: counting a mask would wait for the GPU.
        place = torch.arange(read.values.shape[1])
        counted = (place < read.lengths[:, None]) & (place >= (read.lengths - target.lengths)[:, None])
        rows, of_target = (mask.flatten().nonzero().squeeze(1).to(r.device) for mask in (counted, _there(target)))
        return wide(model.logits(r.flatten(0, 1)[rows])), target.values.flatten()[of_target]

    # --- answers -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def results(
        self, model: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        """How likely the texts are; nothing is searched for, so there are no predictions."""
        assert isinstance(model, LanguageModel)
        items = self._items(examples, FARTHER if model.carries else 1)
        nats, tokens, right, device = 0.0, 0, 0, next(model.parameters()).device
        for rows in in_order([item.lengths for item in items], tokens=16_384):
            logits, said = self._forced(model, self.collate([items[row] for row in rows]).to(device))
            nats += float(cross_entropy(logits, said, reduction="sum"))
            right += int((logits.argmax(-1) == said).sum())
            tokens += len(said)
        return Results(examples, (), nats, tokens, right)

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
    ) -> list[Prediction]:
        """Each text with what may follow it up to the end of its line; `look` adds where the network looked back,
        and `trace` the steps of the search."""
        assert isinstance(model, LanguageModel)
        begun = [[Text.end, *row[:-1]] for row in self.text.encode_all([text[0] for text in texts])]
        device, found = next(model.parameters()).device, [list[Hypothesis]()] * len(texts)
        steps: dict[int, tuple[tuple[Step, ...], ...]] = {}
        for rows in in_order([len(one) + self.max_length for one in begun], tokens=tokens):
            watched = Trace() if trace else None
            hypotheses = (search or self.search)(
                model,
                model.read(Sequences.pad([begun[row] for row in rows]).to(device)),
                start=Text.start,
                end=Text.end,
                max_length=torch.full((len(rows),), self.max_length),
                banned=(Text.pad, Text.unknown, Text.start),
                trace=watched,
            )
            for row, best in zip(rows, hypotheses, strict=True):
                found[row] = best
            if watched is not None:
                steps |= zip(rows, watched.steps(self.text.pieces), strict=True)
        answers = []
        for text, one, best in zip(texts, begun, found, strict=True):
            attention_maps = self._gazes(model, one, best, text[0]) if look and model.looks else [None] * len(best)
            first, *others = [
                self._answer(text[0], one, h, attention_map)
                for h, attention_map in zip(best, attention_maps, strict=True)
            ]
            answers.append(replace(first, source=text[0], others=tuple(others)))
        return [replace(answer, steps=steps[row]) for row, answer in enumerate(answers)] if trace else answers

    @torch.no_grad()
    def score(
        self,
        model: nn.Module,
        rows: Sequence[tuple[str, ...]],
        look: bool = True,
        places: Sequence[Example] = (),
        tokens: int = 8_192,
    ) -> list[Prediction]:
        """Texts that are given, each by itself, in order: how likely each is and each of its tokens, the end among
        them, and with `look` where the network looked back meanwhile."""
        assert isinstance(model, LanguageModel)
        texts = [row[0] for row in rows]
        ids, pieces = self.text.encode_all(texts), self.text.tokens_all(texts)
        found: dict[int, Prediction] = {}
        for some in in_order([len(one) for one in ids], tokens=tokens):
            read, said = (Sequences.pad(many).values.to(model.embedding.weight.device) for many in (
                [[Text.end, *ids[row][:-1]] for row in some], [ids[row] for row in some]
            ))  # fmt: skip
            seen, r = model(read)
            log_p = torch.log_softmax(wide(model.logits(r)), -1).gather(-1, said.unsqueeze(-1)).squeeze(-1).tolist()
            weights = seen.by_key.float().cpu().numpy() if look and seen is not None else [None] * len(some)
            for row, told, each in zip(some, log_p, weights, strict=True):
                parts = tuple(zip(pieces[row], told, strict=False))  # what is told of padding is left out
                attention_map = None if each is None else self._gaze(model, each, pieces[row], 0, texts[row])
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

    def _gazes(
        self, model: LanguageModel, begun: list[int], found: Sequence[Hypothesis], text: str
    ) -> list[AttentionMap]:
        """Where each token that was found came from: asked once all are known, for the past grows with every step."""
        read = Sequences.pad([[*begun, *one.tokens[:-1]] for one in found])
        look, _ = model(read.values.to(model.embedding.weight.device))
        assert look is not None
        weights = look.by_key.float().cpu().numpy()
        attention_maps = []
        for one, each in zip(found, weights, strict=True):
            pieces = self.text.pieces([*begun[1:], *one.tokens])
            attention_maps.append(self._gaze(model, each, pieces, len(begun) - 1, text))
        return attention_maps

    def _gaze(
        self, model: LanguageModel, weights: np.ndarray, pieces: Sequence[Token], first: int, title: str
    ) -> AttentionMap:
        """Where each token from the `first` on came from: the tokens before it, and the end before them all."""
        length, columns = len(pieces), (Token(self.text.seen[Text.end], 0, 0), *pieces[:-1])
        shown = weights[..., first:length, :length]
        return AttentionMap(shown, tuple(pieces[first:]), columns, title=title, head_names=model.head_names)


def _there(sequences: Sequences) -> Tensor:
    """The mask, made anew on the CPU."""
    return torch.arange(sequences.values.shape[1]) < sequences.lengths[:, None]
