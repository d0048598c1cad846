"""Natural language inference: a premise and a hypothesis → entailment, neutral or contradiction.

Without `--data` it learns from built-in pairs of sentences whose entailment follows from their grammar. With your own
`premise TAB hypothesis TAB label` lines, or SNLI's and SICK's own files, it takes words and pre-trained vectors.

    regard train entail --data snli encoder=disan input.embed.vectors=glove.6B.300d.txt
"""

from typing import Annotated, Any, ClassVar

from regard.fields.label import Label
from regard.fields.text import SENTENCE
from regard.find import PLAIN, In, Of, Spec
from regard.predict.classify import ClassifyHead
from regard.ranges import Dropout, ranged
from regard.tasks._decision import Decision
from regard.tasks._options import BestMetric, Estimator, Metrics, Pooling, Reading, SampledTokens, Sparsity
from regard.train.suggest import Recipe, sentence

__all__ = ["Entail"]


class Entail(Decision):
    """Natural language inference: a premise and a hypothesis in, a label out (Bowman 2015, Shen 2018)."""

    name: ClassVar[str] = "entail"
    does: str = "Says whether the first sentence implies the second."
    roles: ClassVar[tuple[str, ...]] = ("premise", "hypothesis")
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("sentence1", "sentence2", "gold_label"),
        ("sentence_A", "sentence_B", "entailment_judgment"),
        ("premise", "hypothesis", "label"),
    )
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("premise",), ("hypothesis",), ("label",))
    default_data: ClassVar[str] = "builtin:grammar"
    recipe: ClassVar[Recipe] = staticmethod(sentence)
    preset: ClassVar[dict[str, Any]] = {
        "input": {"embed": {"dim": 64}},
        "encoder": {"name": "bigru", "hidden": 64},
        "pool": "attention",
        "head": {"hidden": 128},
        "dropout": 0.0,
        "train": {"epochs": 10, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }
    Head = ClassifyHead

    @ranged
    def __init__(
        self,
        input: Reading = SENTENCE,
        encoder: Annotated[Spec, In("encode"), "how each sentence is read"] = "bilstm",
        pool: Pooling = None,
        match: Annotated[Spec, In("predict.match"), "how the vectors of the two sentences are combined"] = "difference",
        head: Annotated[
            Spec, Of("predict.classify.ClassifyHead"), "layers that turn the vector of the pair into the label's logits"
        ] = PLAIN,
        reinforce: SampledTokens = PLAIN,
        sparsity: Sparsity = 0.03,
        estimator: Estimator = "score_function",
        metrics: Metrics = ("accuracy", "loss", "chosen"),
        best_metric: BestMetric = "accuracy",
        dropout: Annotated[Dropout, "dropout on the vector of the pair"] = 0.3,
    ) -> None:
        super().__init__(
            input,
            Label(),
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
