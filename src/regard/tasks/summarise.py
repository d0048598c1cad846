"""Summarisation: a document → a summary.

Without `--data` it learns to put headlines over short built-in reports: to find the sentence that tells what happened,
and in others who it was and where. With your own pairs it takes subwords and a larger network. `truncate` reads the
first tokens of a document alone (See, Liu & Manning 2017, "Get To The Point", section 5.1, take 400); 0 reads all of
it.

    regard train summarise --data articles.jsonl data.source=document data.target=summary
"""

from typing import Annotated, Any, ClassVar

from regard.fields import input_field
from regard.find import PLAIN, In, Of, Spec
from regard.networks.hard_attention import REINFORCE
from regard.ranges import ranged
from regard.tasks._generation import Generation
from regard.tasks._options import BestMetric, LabelSmoothing, Metrics, SampledAttention, Searching, Teaching
from regard.train.suggest import Recipe, summary

__all__ = ["Summarise"]

ENCODER: Spec = {"name": "recurrent", "hidden": 256, "layers": 1, "dropout": 0.3}
DECODER: Spec = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.3}
DOCUMENT: Spec = {"name": "text", "embed": {"dim": 256, "dropout": 0.3}, "max_length": 2048}
SUMMARY: Spec = {"max_length": 2048}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax"}


class Summarise(Generation):
    """Summarisation: a document in, a summary out (Rush, Chopra & Weston 2015; Nallapati et al. 2016)."""

    name: ClassVar[str] = "summarise"
    does: str = "Summarises {input}."
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("document", "summary"),
        ("article", "summary"),
        ("article", "highlights"),
        ("dialogue", "summary"),
        ("text", "summary"),
        ("body", "subject"),
    )
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("document",), ("summary",))
    default_data: ClassVar[str] = "builtin:headlines"
    recipe: ClassVar[Recipe] = staticmethod(summary)
    preset: ClassVar[dict[str, Any]] = {
        "source": {
            "tokenizer": {"name": "word", "split": "punctuation"},
            "embed": {"dim": 96, "dropout": 0.0},
        },
        "target": {"tokenizer": {"name": "word", "split": "punctuation"}},
        "best_metric": "exact_match",
        "encoder": {"name": "recurrent", "hidden": 96, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 96, "hidden": 128, "place": "after", "feed": False, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 96}},
        "label_smoothing": 0.0,
        "train": {"epochs": 2, "time": "120s", "batch_tokens": 2048, "lr": 6e-3, "warmup": 50, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        source: Annotated[Spec, In("fields"), "the document: text, with its tokenizer and word vectors"] = DOCUMENT,
        target: Annotated[Spec, Of("fields.tokens.Tokens"), "the summary: its tokenizer and longest length"] = SUMMARY,
        encoder: Annotated[Spec, In("encode"), "the encoder that reads the document"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the document"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "the decoder that writes the summary"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = ("rouge", "exact_match", "perplexity", "bleu", "chrf", "alignment"),
        best_metric: BestMetric = "rouge",
        label_smoothing: LabelSmoothing = 0.1,
        teach: Teaching = PLAIN,
        reinforce: SampledAttention = REINFORCE,
    ) -> None:
        parts = (input_field(source, end=True), target, encoder, attention, decoder, search, metrics, best_metric)
        super().__init__(*parts, label_smoothing, teach, reinforce=reinforce)

    def room(self, source: int) -> int:
        """A summary is shorter than its document, but for the shortest."""
        return min(self.target.max_length, source // 2 + 40)
