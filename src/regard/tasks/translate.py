"""Translation: a source text → a target text.

Without `--data` it learns to read dates written out in dozens of languages as ISO dates, in a few
minutes on two cores. With your own pairs it takes subwords and a larger network.

    regard train translate --data pairs.tsv
"""

from typing import Annotated, Any, ClassVar

from regard.fields import input_field
from regard.find import PLAIN, In, Of, Spec
from regard.networks.hard_attention import REINFORCE
from regard.ranges import NonNegative, ranged
from regard.tasks._generation import Generation
from regard.tasks._options import BestMetric, LabelSmoothing, Metrics, SampledAttention, Searching, Teaching
from regard.train.suggest import Recipe, generation

__all__ = ["Translate"]


# What did best on Multi30k's validation set (docs/LOG.md): strong dropout, two layers below, Luong's attention.
ENCODER: Spec = {"name": "recurrent", "hidden": 256, "layers": 2, "dropout": 0.4}
DECODER: Spec = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.4}
SOURCE: Spec = {"name": "text", "embed": {"dim": 256, "dropout": 0.4}}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax"}


class Translate(Generation):
    """Translation: a source text in, a target text out (Bahdanau 2014, Luong 2015)."""

    name: ClassVar[str] = "translate"
    does: str = "Translates {input}."
    default_data: ClassVar[str] = "builtin:dates"
    recipe: ClassVar[Recipe] = staticmethod(generation)
    preset: ClassVar[dict[str, Any]] = {
        "source": {"tokenizer": {"name": "character"}, "embed": {"dim": 64, "dropout": 0.0}},
        "target": {"tokenizer": {"name": "character"}},
        "best_metric": "exact_match",
        "encoder": {"name": "recurrent", "hidden": 128, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 64, "hidden": 128, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 64}},
        "label_smoothing": 0.0,
        "train": {"epochs": 5, "time": "150s", "lr": 4e-3, "warmup": 100, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        source: Annotated[Spec, In("fields"), "the source: text, with its tokenizer and word vectors"] = SOURCE,
        target: Annotated[Spec, Of("fields.tokens.Tokens"), "the target: its tokenizer and longest length"] = PLAIN,
        encoder: Annotated[Spec, In("encode"), "the encoder that reads the source"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the source"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "the decoder that writes the target"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = ("exact_match", "token_accuracy", "perplexity", "bleu", "chrf", "alignment"),
        best_metric: BestMetric = "chrf",
        label_smoothing: LabelSmoothing = 0.1,
        teach: Teaching = PLAIN,
        fertility: Annotated[
            NonNegative, "weight of the loss on each source token's total attention; 0 turns it off"
        ] = 0.0,
        reinforce: SampledAttention = REINFORCE,
    ) -> None:
        parts = (input_field(source, end=True), target, encoder, attention, decoder, search, metrics, best_metric)
        super().__init__(*parts, label_smoothing, teach, fertility, reinforce)
