"""Semantic similarity: two sentences → a score on a scale.

Without `--data` it learns from built-in pairs of sentences whose similarity is known. With your own
`sentence TAB sentence TAB score` lines, or SICK's own files, it takes words and pre-trained vectors. The scale is 1 to
5; `head.low` and `head.high` set another.

    regard train relate --data sick input.embed.vectors=glove.6B.300d.txt
"""

from typing import Annotated, Any, ClassVar

from regard.fields.number import Number
from regard.fields.text import SENTENCE
from regard.find import PLAIN, In, Of, Spec, call
from regard.predict.regress import RegressHead
from regard.ranges import Dropout, ranged
from regard.tasks._decision import Decision
from regard.tasks._options import BestMetric, Estimator, Metrics, Pooling, Reading, SampledTokens, Sparsity
from regard.train.suggest import Recipe, sentence

__all__ = ["Relate"]


class Relate(Decision):
    """Semantic similarity: two sentences in, a score out (Marelli 2014, Tai 2015)."""

    name: ClassVar[str] = "relate"
    does: str = "Scores how similar two sentences are."
    roles: ClassVar[tuple[str, ...]] = ("first sentence", "second sentence")
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("sentence_A", "sentence_B", "relatedness_score"),
        ("sentence1", "sentence2", "score"),
    )
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("sentence1",), ("sentence2",), ("score",))
    default_data: ClassVar[str] = "builtin:likeness"
    recipe: ClassVar[Recipe] = staticmethod(sentence)
    preset: ClassVar[dict[str, Any]] = {
        "input": {"embed": {"dim": 64}},
        "encoder": {"name": "bigru", "hidden": 64},
        "pool": "attention",
        "head": {"hidden": 128},
        "dropout": 0.0,
        "train": {"epochs": 10, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }
    Head = RegressHead

    @ranged
    def __init__(
        self,
        input: Reading = SENTENCE,
        encoder: Annotated[Spec, In("encode"), "how each sentence is read"] = "bilstm",
        pool: Pooling = None,
        match: Annotated[Spec, In("predict.match"), "how the vectors of the two sentences are combined"] = "similarity",
        head: Annotated[
            Spec, Of("predict.regress.RegressHead"), "layers that turn the vector of the pair into a score"
        ] = PLAIN,
        reinforce: SampledTokens = PLAIN,
        sparsity: Sparsity = 0.03,
        estimator: Estimator = "score_function",
        metrics: Metrics = ("pearson", "spearman", "mse", "loss", "chosen"),
        best_metric: BestMetric = "pearson",
        dropout: Annotated[Dropout, "dropout on the vector of the pair"] = 0.3,
    ) -> None:
        scale = call(RegressHead, head if not isinstance(head, str) else {}, inputs=1)
        target = Number(scale.low, scale.high)
        super().__init__(
            input,
            target,
            encoder,
            head,
            reinforce,
            sparsity,
            metrics,
            best_metric,
            dropout,
            pool,
            match,
            estimator=estimator,
        )
