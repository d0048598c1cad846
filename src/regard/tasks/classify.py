"""Classification: a text, a picture or a list of items → a label.

Without `--data` it learns to tell in which language a date is written. With your own `text TAB label` lines it
takes words, and pre-trained vectors where you have some. With `input=image` it reads pictures, with `input=items` ids.

    regard train classify --data reviews.tsv input.embed.vectors=glove.6B.300d.txt
    regard train classify --data photos/ input=image
"""

from typing import Annotated, Any, ClassVar

from regard.fields.label import Label
from regard.fields.text import WORDS
from regard.find import PLAIN, In, Of, Spec
from regard.predict.classify import ClassifyHead
from regard.ranges import Dropout, ranged
from regard.tasks._decision import Decision
from regard.tasks._options import BestMetric, Estimator, Metrics, Pooling, Reading, SampledTokens, Sparsity
from regard.train.suggest import Recipe, sentence

__all__ = ["Classify"]


class Classify(Decision):
    """Classification: a text, a picture or a list of items in, a label out (Kim 2014, Lin 2017, Shen 2018)."""

    name: ClassVar[str] = "classify"
    does: str = "Classifies {input}."
    known: ClassVar[tuple[tuple[str, ...], ...]] = (("text", "label"), ("sentence", "label"))
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("text", "image", "items"), ("label",))
    default_data: ClassVar[str] = "builtin:languages"
    recipe: ClassVar[Recipe] = staticmethod(sentence)
    preset: ClassVar[dict[str, Any]] = {
        "input": {"name": "text", "tokenizer": {"name": "character"}, "embed": {"dim": 64}},
        "encoder": {"name": "bigru", "hidden": 64},
        "pool": "attention",
        "head": {"hidden": 64},
        "dropout": 0.1,
        "train": {"epochs": 5, "time": "100s", "lr": 4e-3, "warmup": 50, "ema": 0.99},
    }
    Head = ClassifyHead

    @ranged
    def __init__(
        self,
        input: Reading = WORDS,
        encoder: Annotated[Spec, In("encode"), "how the input is read"] = "bilstm",
        pool: Pooling = None,
        head: Annotated[
            Spec,
            Of("predict.classify.ClassifyHead"),
            "layers that turn the vector of the input into the label's logits",
        ] = PLAIN,
        reinforce: SampledTokens = PLAIN,
        sparsity: Sparsity = 0.03,
        estimator: Estimator = "score_function",
        metrics: Metrics = ("accuracy", "loss", "chosen"),
        best_metric: BestMetric = "accuracy",
        dropout: Annotated[Dropout, "dropout on the vector of the input"] = 0.3,
    ) -> None:
        super().__init__(
            input, Label(), encoder, head, reinforce, sparsity, metrics, best_metric, dropout, pool, estimator=estimator
        )
