"""Question answering: a document and a question → a part of the document, or one of its words.

Without `--data` it learns to answer questions about short stories. Your own data are SQuAD's JSON, or a table or
JSON lines of document, question and answer; for `answer=choice` also the files of bAbI, the Children's Book Test and
CNN.

    regard train answer --data squad/ input.embed.vectors=glove.6B.300d.txt
    regard train answer --data qa1_single-supporting-fact_train.txt answer=choice
    regard train answer --data squad/ encoder=pretrained encoder.from=all-MiniLM-L6-v2/
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from torch import nn

from regard.attend.interact import Interact
from regard.data.batch import in_order
from regard.data.splits import Splits
from regard.encode import Encoder
from regard.errors import RegardError, brief
from regard.fields import input_field, require
from regard.fields.cloze import Candidates, Cloze, same_word
from regard.fields.span import Span
from regard.fields.text import Text
from regard.find import In, Spec, build, named
from regard.measure import Rank, Results
from regard.measure.squad_f1 import SquadF1
from regard.networks.answering import Answered, Answering
from regard.networks.hard_attention import must_learn
from regard.predict.point import Point, spans
from regard.ranges import Dropout, Few, Length, ranged
from regard.search import Search
from regard.tasks._options import BestMetric, Metrics, Reading
from regard.tasks._passages import Passage, starts
from regard.tasks._read_maps import maps_of
from regard.tasks._reading import InputReading, implied
from regard.train.metrics import MetricSet
from regard.train.start import ENCODER, Starts
from regard.train.suggest import Recipe, reading
from regard.train.task import Ask, Capability, Encoded, Task, places
from regard.types import Batch, Example, Prediction, Sequences

__all__ = ["Answer"]

TEXTS: Spec = {
    "name": "text",
    "tokenizer": {"name": "word", "lower": True, "split": "punctuation"},
    "max_length": 50_000,
}
LSTM: Spec = {"name": "lstm", "hidden": 200}
BILSTM: Spec = {"name": "bilstm", "hidden": 200}
USUAL: dict[str, dict[str, Any]] = {
    "span": {
        "interact": "coattention",
        "metrics": ("squad_f1", "squad_exact_match", "loss", "evidence"),
        "best_metric": "squad_f1",
    },
    "choice": {
        "interact": "attention_over_attention",
        "metrics": ("cloze_accuracy", "mrr", "loss", "evidence"),
        "best_metric": "cloze_accuracy",
    },
}
AS_BERT: dict[str, Any] = {
    "interact": "concatenation",
    "again": "identity",
    "point": "linear",
    "overlap": False,
    "dropout": 0.0,
    "window": 384,
    "stride": 128,
}
TOKENS = 16_384  # of a batch in evaluation
READ = 300  # examples whose attention is compared with the evidence


@dataclass
class Found:
    """What was found in one window: spans of its tokens with their scores, and how far all of them outweigh none."""

    passage: Passage
    places: list[tuple[int, int]]
    odds: list[float]  # of each, against none, as a logarithm
    total: float  # of all there are


class Answer(Task):
    """Question answering: a document and a question in, a part of the document or a word out (Xiong 2016, Cui 2016)."""

    name: ClassVar[str] = "answer"
    does: str = "Answers a question about a document."
    counts: ClassVar[str] = "examples"
    starts: ClassVar[Starts | None] = ENCODER
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"lists"})
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("document", "question", "answer"),
        ("context", "question", "answer"),
        ("passage", "question", "answer"),
        ("story", "question", "answer"),
        ("text", "question", "answer"),
        ("context", "question", "answers"),
        ("document", "question", "answers"),
    )
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("document",), ("question",), ("answer",))
    default_data: ClassVar[str] = "builtin:questions"
    recipe: ClassVar[Recipe] = staticmethod(reading)
    preset: ClassVar[dict[str, Any]] = {
        "input": {"embed": {"dim": 48}},
        "encoder": {"name": "bigru", "hidden": 48},
        "again": {"name": "bigru", "hidden": 48},
        "point": {"name": "dynamic", "hidden": 48, "pool": 4},
        "dropout": 0.1,
        "train": {
            "epochs": 8,
            "time": "140s",
            "batch_tokens": 0,
            "batch_size": 32,
            "lr": 4e-3,
            "warmup": 50,
            "ema": 0.99,
        },
    }
    inputs: dict[str, Any]
    target: Span | Cloze
    span: Span | None  # the target, by what it is
    cloze: Cloze | None

    @ranged
    def __init__(
        self,
        answer: Annotated[
            Literal["span", "choice"], "what an answer is: a part of the document (span) or one of its words (choice)"
        ] = "span",
        input: Reading = TEXTS,
        encoder: Annotated[Spec, In("encode"), "how document and question are read"] = LSTM,
        interact: Annotated[
            Spec | None,
            In("attend.interact"),
            "how document and question are combined; none: coattention (span) or attention_over_attention (choice)",
        ] = None,
        again: Annotated[
            Spec,
            In("encode"),
            "encoder that reads the document a second time, with what it found in the question (span); identity: none",
        ] = BILSTM,
        point: Annotated[
            Spec, In("predict.point"), "how the start and the end of the answer are predicted (span)"
        ] = "dynamic",
        overlap: Annotated[
            bool, "add a feature to each word: whether it occurs in both the document and the question"
        ] = True,
        dropout: Annotated[Dropout, "dropout on the states of both encoders"] = 0.3,
        window: Annotated[Length, "tokens of a document that are read at once (span)"] = 400,
        stride: Annotated[
            Length, "tokens from the start of one window to the start of the next, at most window (span)"
        ] = 200,
        occurrences: Annotated[
            Literal["marked", "all"],
            "which place of an answer is learned: the one that the data marks, or all; without marks always all (span)",
        ] = "marked",
        max_answer: Annotated[Length, "longest answer, in tokens (span)"] = 30,
        n_best: Annotated[Few, "number of answers to return, best first"] = 5,
        metrics: Annotated[Metrics, "metrics to report; empty takes the usual ones for this kind of answer"] = (),
        best_metric: Annotated[
            BestMetric, "metric that decides which weights are kept; empty: squad_f1 (span) or cloze_accuracy (choice)"
        ] = "",
    ) -> None:
        field = require(input_field(input, end=False), Text, "input", "as answers are parts of it")
        if stride > window:
            raise RegardError(f"stride={stride} with window={window}", expected=f"at most {window}")
        usual = USUAL[answer]
        self.reading = InputReading.of(encoder, field, len(("document", "question")), pools=True)
        if self.reading.pretrained and (answer != "span" or not self.reading.joint):
            said = "encoder.pair=separate" if answer == "span" else f"answer={answer}"
            raise RegardError(
                f"{said} with encoder=pretrained", expected="answer=span and encoder.pair=joint for this encoder"
            )
        self.way, self.field, self.overlap, self.dropout = answer, field, overlap, dropout
        self.window, self.stride, self.max_answer, self.n_best = window, stride, max_answer, n_best
        self.occurrences = occurrences
        self.inputs = {"document": field, "question": field}
        span, cloze = Span(), Cloze()
        self.target = span if answer == "span" else cloze
        self.span, self.cloze = (span, None) if answer == "span" else (None, cloze)
        self.metrics = MetricSet(metrics or usual["metrics"], best_metric or usual["best_metric"])
        self.options = {"encoder": encoder, "interact": interact or usual["interact"], "again": again, "point": point}

    # --- data ----------------------------------------------------------------------------------------------

    @classmethod
    def implied(cls, options: Mapping[str, Any]) -> dict[str, Any]:
        """What BERT does: question and document are read as one, and a linear layer points at the answer (Devlin et
        al. 2019, "BERT", section 4.2)."""
        found = implied(options)
        return {**found, **AS_BERT} if found else {}

    def learn(self, examples: Sequence[Example]) -> None:
        if self.cloze is not None:
            rows = [(one.source, one.target, one.choices) for one in examples]
            self.cloze.learn(*(list(column) for column in zip(*rows, strict=True)))
        super().learn(examples)
        if self.went_on is None:
            self.reading.begin()

    def values(self, examples: Sequence[Example]) -> dict[int, list[str]]:
        """Each document and each question once: a document counts no more for having many questions."""
        return {number: [*dict.fromkeys(texts)] for number, texts in super().values(examples).items()}

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self.reading.check()

    @property
    def notes(self) -> list[str]:
        return [*super().notes, *self.reading.notes]

    def prepared(self, examples: Sequence[Example]) -> Sequence[Example]:
        return examples

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        return [
            Encoded((one.document, one.question, one.words), one.target, one.lengths)
            for one in self._passages([one.inputs for one in examples], [one.where for one in examples], examples)
        ]

    def collate(self, items: Sequence[Encoded]) -> Batch:
        return Batch(
            self.batched([item.inputs for item in items]), self.target.collate([item.target for item in items])
        )

    def batched(self, rows: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        sides = self.reading.passages([row[0] for row in rows], [row[1] for row in rows])
        if self.way == "span":
            return tuple(sides)
        return (*sides, Sequences.pad([row[2].groups for row in rows], fill=-1))

    def _passages(
        self, texts: Sequence[Sequence[str]], where: Sequence[str], examples: Sequence[Example] = ()
    ) -> list[Passage]:
        """The windows of each document, in order, with the answers of examples."""
        documents, questions = (list(dict.fromkeys(text[side] for text in texts)) for side in (0, 1))
        read = dict(zip([*documents, *questions], self.field.text.spans_all([*documents, *questions]), strict=True))
        found: list[Passage] = []
        for number, ((document, question), at) in enumerate(zip(texts, where, strict=True)):
            for role, text in (("document", document), ("question", question)):
                if not read[text][0] or not text.strip():
                    raise RegardError(f"{at}: an empty {role}", expected="at least one word")
            self.field.check(read[question][0], at, "question")
            example = examples[number] if examples else None
            whole = (number, *read[document], self.reading.question(read[question][0]))
            if self.way == "choice":
                found.append(self._words(*whole, document, example, at))
                continue
            windows = [*self._windows(*whole, example)]
            self.reading.passage_fits(windows[0].document, windows[0].question, at)
            found += windows
        return found

    def _windows(
        self, number: int, ids: list[int], tokens: list[tuple[int, int]], question: list[int], example: Example | None
    ) -> Iterator[Passage]:
        assert self.span is not None
        answers: list[tuple[int, int]] = []
        if example is not None and example.target.strip():
            given = example.spans[0] if example.spans else None
            one = self.span.locate(example.source, example.target, given, example.where)
            every = self.occurrences == "all" or given is None
            some = self.span.everywhere(example.source, example.target, one) if every else [one]
            answers = [found for place in some if (found := self.span.covering(tokens, place)) is not None]
        size = len(tokens)
        for first in starts(size, self.window, self.stride):
            last = min(first + self.window, size)
            inside = tuple((a - first, b - first) for a, b in answers if first <= a and b < last)
            target = inside or ((last - first, last - first),)
            shown = [*tokens[first:last], (-1, -1)]
            part = self.reading.document(ids[first:last])
            yield Passage(number, part, question, shown, target=target, extra=("</s>",))

    def _words(
        self,
        number: int,
        ids: list[int],
        tokens: list[tuple[int, int]],
        question: list[int],
        document: str,
        example: Example | None,
        at: str,
    ) -> Passage:
        """The whole document and, after it, the answers that are in no document."""
        assert self.cloze is not None
        self.field.check(ids, at, "document")
        choices = example.choices if example is not None else ()
        words = Candidates.of(document, tokens, choices)
        names, groups, ids, extra = list(words.names), list(words.groups), list(ids), []
        for name in self.cloze.outside:
            if choices and name not in choices:
                continue
            own = self.field.text.spans_all([name])[0][0]
            group = words.number(name)
            if group < 0:
                names.append(name)
                group = len(names) - 1
            ids += own
            groups += [group] * len(own)
            extra += [name] * len(own)
        every = Candidates(tuple(names), tuple(groups))
        target = -1 if example is None else every.number(example.target)
        places = [*tokens, *[(-1, -1)] * len(extra)]
        return Passage(number, ids, question, places, every, target, tuple(extra))

    # --- the network -----------------------------------------------------------------------------------------

    def network(self) -> Answering:
        embed, encoder = self.reading.build()
        must_learn(encoder, "encoder.normalizer")
        interact: Interact = build("attend.interact", self.options["interact"], inputs=encoder.size)
        if self.reading.pretrained and not interact.early:
            raise RegardError(
                f"encoder=pretrained with interact={named(self.options['interact'])}",
                expected="interact=concatenation",
            )
        wanted = "values" if self.way == "span" else "weights"
        if interact.gives != wanted:
            fitting = {
                "values": "coattention, attention or concatenation",
                "weights": "attention_over_attention or attention_sum",
            }
            said = self.options["interact"]
            raise RegardError(f"answer={self.way} with interact={brief(said)}", expected=fitting[wanted])
        again: Encoder | None = None
        point: Point | None = None
        if self.way == "span":
            again = build("encode", self.options["again"], inputs=interact.size)
            must_learn(again, "again.normalizer")
            point = build("predict.point", self.options["point"], inputs=again.size)
        return Answering(embed, encoder, interact, again, point, self.overlap, self.dropout)

    def save_pretrained(self, network: nn.Module, folder: Path) -> Path:
        assert isinstance(network, Answering)
        if not self.reading.pretrained:
            return super().save_pretrained(network, folder)
        return self.reading.save(network.embed, network.encoder, folder)

    # --- predictions -----------------------------------------------------------------------------------------

    @torch.no_grad()
    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        assert isinstance(network, Answering)
        texts, where = [one.inputs for one in examples], [one.where for one in examples]
        passages = self._passages(texts, where, examples)
        predictions, nats = self._predicted(network, texts, passages, every=True)
        read: list[Prediction] = []
        if not quick and any(one.evidence for one in examples[:READ]):
            read = self.predict(network, texts[:READ], Ask(), where[:READ])
        ranks = [] if self.way == "span" else [ranked(*pair) for pair in zip(examples, predictions, strict=True)]
        return Results(examples, predictions, nats, len(passages), read=read, ranks=ranks)

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        assert isinstance(network, Answering)
        passages = self._passages(texts, places(texts, where))
        return self._predicted(network, texts, passages, ask=ask)[0]

    def _predicted(
        self,
        network: Answering,
        texts: Sequence[Sequence[str]],
        passages: Sequence[Passage],
        every: bool = False,
        ask: Ask | None = None,
    ) -> tuple[list[Prediction], float]:
        """A prediction for each text, and −log p of the targets. With `every`, all words are ranked."""
        look = ask is not None and ask.look
        count = (ask.n_best if ask is not None else 0) or self.n_best
        tokens = TOKENS if ask is None else ask.batch_tokens // 4 if look else ask.batch_tokens
        device = next(network.parameters()).device
        found: dict[int, Any] = {}  # the windows of each document, or all of it
        shown: dict[int, tuple[float, Any]] = {}
        nats = 0.0
        for rows in in_order([one.lengths for one in passages], tokens=max(1, tokens)):
            some = [passages[row] for row in rows]
            inputs = [one.to(device) for one in self.batched([(p.document, p.question, p.words) for p in some])]
            read = network.read(inputs)
            if every:
                target = self.target.collate([one.target for one in some]).to(device)  # type: ignore[misc]
                nats += float(network.nats(read, target, every=False).sum())
            outcomes = self._spans(read, some, count) if self.way == "span" else self._chances(read, some)
            for place, (passage, outcome) in enumerate(zip(some, outcomes, strict=True)):
                if isinstance(outcome, Found):
                    found.setdefault(passage.example, []).append(outcome)
                else:
                    found[passage.example] = outcome
                if look:
                    weight = outcome.odds[0] if isinstance(outcome, Found) else 0.0
                    if passage.example not in shown or weight > shown[passage.example][0]:
                        text = texts[passage.example]
                        question = self.field.regions([text[1]])[0]
                        shown[passage.example] = weight, maps_of(read, place, passage, text, question)
        threshold = float(network.threshold)
        answers = []
        for number, text in enumerate(texts):
            if self.way == "span":
                one = self._best(text[0], found[number], threshold, count)
            else:
                one = self._chosen(found[number], None if every else count)
            maps = shown[number][1] if look else ()
            answers.append(replace(one, look=maps[0] if maps else None, looks=tuple(maps[1:]), source="\t".join(text)))
        return answers, nats

    def _spans(self, read: Answered, some: Sequence[Passage], count: int) -> list[Found]:
        """The best spans of each window. They are scored against pointing at the end, which says that it has none: so
        windows of one document can be compared."""
        assert read.pointed is not None
        start, end = read.pointed.start[:, -1], read.pointed.end[:, -1]
        last = torch.tensor([len(one.document) - 1 for one in some], device=start.device)
        none = (start + end).gather(1, last.unsqueeze(1))
        mask = torch.arange(start.shape[1], device=start.device) < last.unsqueeze(1)
        best = spans(start, end, mask, self.max_answer, count)
        odds, total = (best.scores - none).tolist(), (best.total - none[:, 0]).tolist()
        ends = [[(first, final) for first, final in row] for row in best.places.tolist()]
        return [Found(*row) for row in zip(some, ends, odds, total, strict=True)]

    def _best(self, document: str, found: Sequence[Found], threshold: float, count: int) -> Prediction:
        """The best spans of all windows; the same span of two windows is one answer. That there is none is one of the
        answers where the training data has such questions."""
        odds: dict[tuple[int, int], float] = {}
        for window in found:
            for (first, last), score in zip(window.places, window.odds, strict=True):
                if score > -math.inf:
                    place = window.passage.tokens[first][0], window.passage.tokens[last][1]
                    odds[place] = float(np.logaddexp(odds.get(place, -math.inf), score))
        total = float(np.logaddexp.reduce([window.total for window in found]))
        unanswered = self.span is not None and self.span.unanswered
        total = float(np.logaddexp(total, 0.0)) if unanswered else total
        ranked = sorted(odds.items(), key=lambda one: (-one[1], one[0]))[:count]
        answers = [Prediction(document[a:b], min(score - total, 0.0), span=(a, b)) for (a, b), score in ranked]
        if unanswered:
            answers.insert(1 if ranked and ranked[0][1] >= threshold else 0, Prediction("", min(-total, 0.0)))
        return replace(answers[0], others=tuple(answers[1:]))

    def _chances(self, read: Answered, some: Sequence[Passage]) -> list[tuple[Passage, list[float], list[float]]]:
        assert read.chances is not None
        assert read.interaction.weights is not None
        chances, weights = read.chances.tolist(), read.interaction.weights.tolist()
        return [*zip(some, chances, weights, strict=True)]

    def _chosen(self, found: tuple[Passage, list[float], list[float]], count: int | None) -> Prediction:
        """The likeliest words (None: all), each marked where it was looked at most."""
        passage, chances, weights = found
        assert passage.words is not None
        names = passage.words.names
        if not names:
            raise RegardError("a document without words", expected="at least one word to choose")
        order = sorted(range(len(names)), key=lambda number: -chances[number])
        peak: dict[int, tuple[float, tuple[int, int]]] = {}
        for group, weight, token in zip(passage.words.groups, weights, passage.tokens, strict=False):
            if group >= 0 and token[0] >= 0 and weight > peak.get(group, (-1.0, token))[0]:
                peak[group] = weight, token
        answers = [
            Prediction(names[n], math.log(min(max(chances[n], 1e-30), 1.0)), span=peak[n][1] if n in peak else None)
            for n in order[:count]
        ]
        return replace(answers[0], others=tuple(answers[1:]))

    def groups(self, examples: Sequence[Example]) -> dict[str, Sequence[int | str]]:
        documents = self.field.text.spans_all([one.source for one in examples])
        return {
            "question word": [asked_with(one.inputs[1]) for one in examples],
            "answer length": [len(one.target.split()) for one in examples],
            "document length": [len(ids) for ids, _ in documents],
        }

    # --- after the training ------------------------------------------------------------------------------------

    def finish(self, run: Any, network: nn.Module, splits: Splits) -> None:
        """Where questions may have no answer, the validation set says how likely an answer has to be."""
        assert isinstance(network, Answering)
        if not (self.span is not None and self.span.unanswered and splits.valid):
            return
        network.threshold.fill_(-math.inf)  # so that everything is answered
        found = self.results(network, splits.valid, quick=True)
        scores = SquadF1().each(found)
        rows = []
        for (example, one), score in zip(found.pairs(), scores, strict=True):
            none = next(other for other in one.others if other.span is None)
            odds = float(one.log_prob or 0.0) - float(none.log_prob or 0.0)
            rows.append((odds, score, not example.target.strip()))
        network.threshold.fill_(best_threshold(rows))
        run.save_weights(network)


def ranked(example: Example, prediction: Prediction) -> Rank:
    """Where the true word stands among all that could be chosen."""
    words = (prediction, *prediction.others)
    true = next((one.log_prob for one in words if same_word(one.text) == same_word(example.target)), None)
    if true is None:
        return Rank(0, 0, len(words), missing=True)
    scores = [float(one.log_prob or 0.0) for one in words]
    return Rank(sum(score > true for score in scores), sum(score == true for score in scores) - 1, len(words) - 1)


ASKED = re.compile(r"\b(who|whom|whose|what|which|when|where|why|how (?:much|many|long|far|old)|how|is|are|does)\b")


def asked_with(question: str) -> str:
    """The first English question word of a question."""
    found = ASKED.search(question.lower())
    return found[0] if found else "other"


def best_threshold(rows: Sequence[tuple[float, float, bool]]) -> float:
    """The least log-odds from which to answer, for the highest mean score. A row has the log-odds, the score of the
    answer, and whether no answer would be right."""
    rows = sorted(rows)
    score = sum(score for _, score, _ in rows)
    best, threshold = score, rows[0][0] - 1.0 if rows else 0.0
    for number, (odds, answered, silent) in enumerate(rows):
        score += float(silent) - answered
        if score > best:
            above = rows[number + 1][0] if number + 1 < len(rows) else odds + 2.0
            best, threshold = score, (odds + above) / 2
    return threshold
