"""Translate: a text in one language (or notation) → the same in another. n tokens in, m tokens out.

With nothing given it learns to read dates written out in dozens of languages as ISO dates, in a few
minutes on two cores. With your own pairs it takes subwords and a larger network.

    regard train translate --data pairs.tsv
"""

from typing import Annotated, Any, ClassVar

from regard.find import PLAIN, In, Of, Spec
from regard.ranges import Dropout, Length, NonNegative, Width
from regard.tasks._generation import Generation, SampledAttention, Searching, Teaching
from regard.tasks._measured import BestMetric, LabelSmoothing, Metrics
from regard.tasks._sampled import REINFORCE
from regard.train.suggest import Recipe, generation

__all__ = ["Translate"]


# What did best on Multi30k's validation set (docs/LOG.md): strong dropout, two layers below, Luong's attention.
ENCODER: Spec = {"name": "recurrent", "hidden": 256, "layers": 2, "dropout": 0.4}
DECODER: Spec = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.4}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax"}


class Translate(Generation):
    """A text in, the same text in another language out (Bahdanau 2014, Luong 2015)."""

    name: ClassVar[str] = "translate"
    default_data: ClassVar[str] = "builtin:dates"
    recipe: ClassVar[Recipe] = staticmethod(generation)
    preset: ClassVar[dict[str, Any]] = {
        "source": {"name": "character"},
        "target": {"name": "character"},
        "best_metric": "exact_match",
        "embed": 64,
        "encoder": {"name": "recurrent", "hidden": 128, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 64, "hidden": 128, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 64}},
        "dropout": 0.0,
        "label_smoothing": 0.0,
        "train": {"epochs": 5, "time": "150s", "lr": 4e-3, "warmup": 100, "ema": 0.99},
    }

    def __init__(
        self,
        source: Annotated[Spec, In("text"), "how the source is split into tokens"] = "bpe",
        target: Annotated[Spec, In("text"), "how the target is split into tokens"] = "bpe",
        embed: Annotated[Width, "size of the source embeddings"] = 256,
        encoder: Annotated[Spec, In("encode"), "how the source is read"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the source"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "how the target is written"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = (
            "exact_match",
            "token_accuracy",
            "perplexity",
            "bleu",
            "chrf",
            "alignment",
        ),
        best_metric: BestMetric = "chrf",
        label_smoothing: LabelSmoothing = 0.1,
        dropout: Annotated[Dropout, "dropout on the source embeddings"] = 0.4,
        max_length: Annotated[Length, "longest source, target or answer, in tokens"] = 1024,
        teach: Teaching = PLAIN,
        fertility: Annotated[
            NonNegative, "weight of the loss on each source token's total attention; 0 turns it off"
        ] = 0.0,
        reinforce: SampledAttention = REINFORCE,
    ) -> None:
        parts = (source, target, embed, encoder, attention, decoder, search, metrics, best_metric)
        super().__init__(*parts, label_smoothing, dropout, max_length, teach, fertility, reinforce)
