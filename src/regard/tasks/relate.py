"""Relate: two sentences → how close they are in meaning, a number on a scale (1 to 5).

With nothing given it learns made pairs whose likeness follows from what they share. With your own
`sentence TAB sentence TAB score` lines, or SICK's own files, it takes words and pre-trained vectors. The answer is the
mean of a distribution over the whole steps of the scale, and the loss the KL divergence from the sparse distribution
around the true score (Tai, Socher & Manning 2015, section 5.2).

    regard train relate --data sick encoder=resan embed.vectors=glove.6B.300d.txt
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import kl_div, log_softmax

from regard.errors import RegardError
from regard.find import PLAIN, In, Of, Spec, call
from regard.predict.regress import Regress, expected, sparse
from regard.ranges import Dropout, Length
from regard.tasks._measured import BestMetric, Metrics
from regard.tasks._reader import Read
from regard.tasks._sentences import Pooling, SampledTokens, Sentences, Sparsity, WordVectors
from regard.tasks.classify import WORDS
from regard.train.suggest import Recipe, sentence
from regard.train.task import Item
from regard.types import Example, Prediction, wide

__all__ = ["Relate"]


class Relate(Sentences):
    """Two sentences in, how close they are out (Marelli 2014, Tai 2015)."""

    name: ClassVar[str] = "relate"
    columns: ClassVar[int] = 3
    roles: ClassVar[tuple[str, ...]] = ("first sentence", "second sentence")
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("sentence_A", "sentence_B", "relatedness_score"),
        ("sentence1", "sentence2", "score"),
    )
    default_data: ClassVar[str] = "builtin:likeness"
    recipe: ClassVar[Recipe] = staticmethod(sentence)
    preset: ClassVar[dict[str, Any]] = {
        "embed": {"dim": 64},
        "encoder": {"name": "bigru", "hidden": 64},
        "pool": "attention",
        "head": {"hidden": 128},
        "dropout": 0.0,
        "train": {"epochs": 10, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }

    def __init__(
        self,
        text: Annotated[Spec, In("text"), "how texts are split into tokens"] = WORDS,
        embed: WordVectors = PLAIN,
        encoder: Annotated[Spec, In("encode"), "how a text is read"] = "bilstm",
        pool: Pooling = None,
        match: Annotated[Spec, In("predict.match"), "how the vectors of the two sentences are combined"] = "similarity",
        head: Annotated[
            Spec, Of("predict.regress.Regress"), "layers that turn the vector of the pair into a score"
        ] = PLAIN,
        reinforce: SampledTokens = PLAIN,
        sparsity: Sparsity = 0.03,
        metrics: Metrics = (
            "pearson",
            "spearman",
            "mse",
            "loss",
            "chosen",
        ),
        best_metric: BestMetric = "pearson",
        dropout: Annotated[Dropout, "dropout on the vector of the pair"] = 0.3,
        max_length: Annotated[Length, "longest sentence, in tokens"] = 512,
    ) -> None:
        super().__init__(
            text, embed, encoder, pool, match, head, reinforce, sparsity, metrics, best_metric, dropout, max_length
        )
        scale = call(Regress, self.options["head"], inputs=1)
        self.low, self.high = scale.low, scale.high

    def learn_targets(self, examples: Sequence[Example]) -> None:
        """The scale is the head's own."""

    def head(self, size: int) -> nn.Module:
        return call(Regress, self.options["head"], inputs=size)  # type: ignore[no-any-return]

    def target(self, example: Example) -> list[float]:
        try:
            score = float(example.target)
        except ValueError:
            score = math.nan
        if not self.low <= score <= self.high:
            raise RegardError(
                f"{example.where}: score {example.target!r}",
                expected=f"a number from {self.low} to {self.high}",
                do="set head.low and head.high for another scale",
            )
        return [score]

    def targets(self, items: Sequence[Item]) -> Tensor:
        return torch.tensor([item.target[0] for item in items])

    def nats(self, read: Read, target: Tensor) -> Float[Tensor, " batch"]:
        log_p = log_softmax(wide(read.logits), -1)
        return kl_div(log_p, sparse(target.to(log_p.dtype), self.low, self.high), reduction="none").sum(-1)

    def answers(self, read: Read, batch: int) -> list[Prediction]:
        """The mean, and beside it the steps of the scale it is the mean of, the likeliest first."""
        log_p = log_softmax(read.logits.cpu().double(), -1)  # not on the device: MPS has no float64
        log_probs, order = log_p.sort(dim=-1, descending=True, stable=True)
        return [
            Prediction(
                f"{mean:.4f}",
                None,  # a mean has no probability; its steps have
                others=tuple(Prediction(str(self.low + n), one) for one, n in zip(row, numbers, strict=True)),
            )
            for mean, row, numbers in zip(
                expected(log_p, self.low).tolist(), log_probs.tolist(), order.tolist(), strict=True
            )
        ]
