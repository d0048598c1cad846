"""Tag: a text → a label for each of its tokens. n tokens in, n labels out: the transducer.

With nothing given it learns which characters of a written date are its day, month and year. With your own data it
reads CoNLL columns, or `text TAB labels` lines with as many labels as tokens, both between spaces.

    regard train tag --data ner.conll encoder=bilstm
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

from regard.encode.recurrent import Recurrent
from regard.errors import RegardError, counted
from regard.find import PLAIN, In, Of, Spec
from regard.predict.tag import Tag as Head
from regard.ranges import Dropout, Length
from regard.tasks._labels import Labels
from regard.tasks._measured import BestMetric, Metrics
from regard.tasks._reader import Read, Reader
from regard.tasks._sentences import Sparsity, WordVectors
from regard.train.suggest import Recipe, tagging
from regard.train.task import Item
from regard.types import Batch, Example, Prediction, Sequences, wide

__all__ = ["Stream", "Tag"]

NOTHING = -100  # the label of padding, which cross entropy leaves out


class Tag(Labels):
    """A text in, a label for each token out."""

    Head = Head

    name: ClassVar[str] = "tag"
    columns: ClassVar[int] = 2
    counts: ClassVar[str] = "tokens"
    default_data: ClassVar[str] = "builtin:fields"
    recipe: ClassVar[Recipe] = staticmethod(tagging)
    preset: ClassVar[dict[str, Any]] = {
        "text": {"name": "character"},
        "embed": {"dim": 64},
        "encoder": {"name": "bigru", "hidden": 64},
        "dropout": 0.0,
        "train": {"epochs": 5, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }

    def __init__(
        self,
        text: Annotated[Spec, In("text"), "how texts are split into tokens"] = "word",
        embed: WordVectors = PLAIN,
        encoder: Annotated[Spec, In("encode"), "how a text is read"] = "bilstm",
        head: Annotated[
            Spec, Of("predict.tag.Tag"), "layers that turn each token's state into its label's logits"
        ] = PLAIN,
        reinforce: Annotated[
            Spec, Of("attend.reinforce.Reinforce"), "how an encoder that samples tokens is trained"
        ] = PLAIN,
        sparsity: Sparsity = 0.03,
        metrics: Metrics = (
            "tag_accuracy",
            "span_f1",
            "loss",
            "chosen",
        ),
        best_metric: BestMetric = "tag_accuracy",
        dropout: Annotated[Dropout, "dropout on the encoder's states"] = 0.3,
        max_length: Annotated[Length, "longest text, in tokens"] = 1024,
    ) -> None:
        super().__init__(
            text, embed, encoder, None, None, head, reinforce, sparsity, metrics, best_metric, dropout, max_length
        )

    @staticmethod
    def labels_of(example: Example) -> list[str]:
        """At spaces only: a label may hold any other character."""
        return [label for label in example.target.split(" ") if label]

    def _pool(self, encoder: Any) -> None:
        return None

    def check(self, item: Item, example: Example) -> None:
        if len(item.target) != len(item.inputs[0]):
            raise RegardError(
                f"{example.where}: {counted(len(item.target), 'label')} for {counted(len(item.inputs[0]), 'token')}",
                expected="a label for each token, with spaces between",
            )

    def targets(self, items: Sequence[Item]) -> Sequences:
        return Sequences.pad([item.target for item in items], fill=NOTHING)

    def count(self, batch: Batch) -> int:
        return int(batch.source.lengths.sum())

    def nats(self, read: Read, target: Sequences) -> Float[Tensor, " batch"]:
        logits = wide(read.logits).transpose(1, 2)
        return cross_entropy(logits, target.values, ignore_index=NOTHING, reduction="none").sum(-1)

    def answers(self, read: Read, batch: int) -> list[Prediction]:
        log_probs, best = log_softmax(wide(read.logits), -1).max(-1)
        there = [int(length) for length in read.inputs.lengths]
        return [
            Prediction(" ".join(self.labels[n] for n in row[:length]), total, log_prob_per_token=total / max(length, 1))
            for row, each, length in zip(best.tolist(), log_probs.tolist(), there, strict=True)
            for total in [float(sum(each[:length]))]
        ]

    def stream(self, model: nn.Module) -> "Stream":
        """A tagger that answers each token as it arrives."""
        assert isinstance(model, Reader)
        encoder = model.encoder
        if not isinstance(encoder, Recurrent) or encoder.bidirectional:
            raise RegardError(
                "an encoder that must see the whole sentence",
                expected="a one-way one, to tag a stream",
                do="train with encoder=lstm, or encoder=recurrent encoder.bidirectional=false",
            )
        return Stream(self, model, encoder)


class Stream:
    """One sentence being tagged, token by token; `end` begins the next."""

    def __init__(self, task: Tag, model: Reader, encoder: Recurrent) -> None:
        self.task, self.model, self.encoder, self.state = task, model, encoder, None

    def __call__(self, token: str) -> str:
        """The label of the next token; one that is split into several is labelled by its last part."""
        labels = self.labels(token)
        if not labels:
            raise RegardError("an empty token", expected="at least one character")
        return labels[-1]

    @torch.no_grad()
    def labels(self, text: str) -> list[str]:
        """The labels of all tokens of the text that comes next, as the model's own splitting tells them apart."""
        numbers = self.task.text.encode(text)[:-1]
        if not numbers:
            return []
        device = next(self.model.parameters()).device
        words = self.model.words(torch.tensor([numbers], device=device))
        states, self.state = self.encoder.follow(words, self.state)
        return [self.task.labels[number] for number in self.model.head(states)[0].argmax(-1).tolist()]

    def end(self) -> None:
        self.state = None
