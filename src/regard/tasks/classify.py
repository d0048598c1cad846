"""Classify: a text → one of several labels. n tokens in, one answer out: the acceptor.

With nothing given it learns to tell in which language a date is written. With your own `text TAB label` lines it
takes words, and pre-trained vectors where you have some.

    regard train classify --data reviews.tsv embed.vectors=glove.6B.300d.txt
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy, log_softmax

from regard.find import PLAIN, In, Of, Spec
from regard.predict.classify import Classify as Head
from regard.ranges import Dropout, Length, ranged
from regard.tasks._labels import Labels
from regard.tasks._measured import BestMetric, LabelSmoothing, Metrics
from regard.tasks._reader import Read
from regard.tasks._sentences import Pooling, SampledTokens, Sparsity, WordVectors
from regard.train.suggest import Recipe, sentence
from regard.train.task import Item
from regard.types import Example, Prediction, wide

__all__ = ["Classify", "Labelled"]

WORDS: Spec = {"name": "word", "lower": True, "split": "punctuation"}


class Labelled(Labels):
    """A sentence or a pair in, a label out."""

    Head = Head
    label_smoothing: float = 0.0

    @staticmethod
    def labels_of(example: Example) -> tuple[str]:
        return (example.target,)

    def targets(self, items: Sequence[Item]) -> Tensor:
        return torch.tensor([item.target[0] for item in items])

    def nats(self, read: Read, target: Tensor) -> Float[Tensor, " batch"]:
        smoothing = self.label_smoothing if torch.is_grad_enabled() else 0.0
        return cross_entropy(wide(read.logits), target, reduction="none", label_smoothing=smoothing)

    def answers(self, read: Read, batch: int) -> list[Prediction]:
        """The likeliest label first, and all others in their order."""
        log_probs, order = log_softmax(wide(read.logits), -1).sort(-1, descending=True)
        return [
            Prediction(first.text, first.log_prob, others=tuple(others))
            for row, numbers in zip(log_probs.tolist(), order.tolist(), strict=True)
            for first, *others in [[Prediction(self.labels[n], log_p) for log_p, n in zip(row, numbers, strict=True)]]
        ]


class Classify(Labelled):
    """A text in, its label out (Kim 2014, Lin 2017, Shen 2018)."""

    name: ClassVar[str] = "classify"
    columns: ClassVar[int] = 2
    known: ClassVar[tuple[tuple[str, ...], ...]] = (("text", "label"), ("sentence", "label"))
    default_data: ClassVar[str] = "builtin:languages"
    recipe: ClassVar[Recipe] = staticmethod(sentence)
    preset: ClassVar[dict[str, Any]] = {
        "text": {"name": "character"},
        "embed": {"dim": 64},
        "encoder": {"name": "bigru", "hidden": 64},
        "pool": "attention",
        "head": {"hidden": 64},
        "dropout": 0.1,
        "train": {"epochs": 5, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        text: Annotated[Spec, In("text"), "how texts are split into tokens"] = WORDS,
        embed: WordVectors = PLAIN,
        encoder: Annotated[Spec, In("encode"), "how a text is read"] = "bilstm",
        pool: Pooling = None,
        head: Annotated[
            Spec, Of("predict.classify.Classify"), "layers that turn the sentence vector into the label's logits"
        ] = PLAIN,
        reinforce: SampledTokens = PLAIN,
        sparsity: Sparsity = 0.03,
        metrics: Metrics = (
            "accuracy",
            "loss",
            "chosen",
        ),
        best_metric: BestMetric = "accuracy",
        label_smoothing: LabelSmoothing = 0.0,
        dropout: Annotated[Dropout, "dropout on the sentence vector"] = 0.3,
        max_length: Annotated[Length, "longest text, in tokens"] = 1024,
    ) -> None:
        super().__init__(
            text, embed, encoder, pool, None, head, reinforce, sparsity, metrics, best_metric, dropout, max_length
        )
        self.label_smoothing = label_smoothing
