"""Entail: a premise and a hypothesis → whether the first implies the second, denies it, or leaves it open.

With nothing given it learns pairs of sentences whose entailment follows from their grammar. With your own
`premise TAB hypothesis TAB label` lines, or SNLI's and SICK's own files, it takes words and pre-trained vectors.

    regard train entail --data snli encoder=disan embed.vectors=glove.6B.300d.txt
"""

from typing import Annotated, Any, ClassVar

from regard.find import PLAIN, In, Of, Spec
from regard.ranges import Dropout, Length, ranged
from regard.tasks._measured import BestMetric, LabelSmoothing, Metrics
from regard.tasks._sentences import Pooling, SampledTokens, Sparsity, WordVectors
from regard.tasks.classify import WORDS, Labelled
from regard.train.suggest import Recipe, sentence

__all__ = ["Entail"]


class Entail(Labelled):
    """Two sentences in, the label of the pair out (Bowman 2015, Shen 2018)."""

    name: ClassVar[str] = "entail"
    columns: ClassVar[int] = 3
    roles: ClassVar[tuple[str, ...]] = ("premise", "hypothesis")
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("sentence1", "sentence2", "gold_label"),
        ("sentence_A", "sentence_B", "entailment_judgment"),
        ("premise", "hypothesis", "label"),
    )
    default_data: ClassVar[str] = "builtin:grammar"
    recipe: ClassVar[Recipe] = staticmethod(sentence)
    preset: ClassVar[dict[str, Any]] = {
        "embed": {"dim": 64},
        "encoder": {"name": "bigru", "hidden": 64},
        "pool": "attention",
        "head": {"hidden": 128},
        "dropout": 0.0,
        "train": {"epochs": 10, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        text: Annotated[Spec, In("text"), "how texts are split into tokens"] = WORDS,
        embed: WordVectors = PLAIN,
        encoder: Annotated[Spec, In("encode"), "how a text is read"] = "bilstm",
        pool: Pooling = None,
        match: Annotated[Spec, In("predict.match"), "how the vectors of the two sentences are combined"] = "difference",
        head: Annotated[
            Spec, Of("predict.classify.Classify"), "layers that turn the vector of the pair into the label's logits"
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
        dropout: Annotated[Dropout, "dropout on the vector of the pair"] = 0.3,
        max_length: Annotated[Length, "longest sentence, in tokens"] = 512,
    ) -> None:
        super().__init__(
            text, embed, encoder, pool, match, head, reinforce, sparsity, metrics, best_metric, dropout, max_length
        )
        self.label_smoothing = label_smoothing
