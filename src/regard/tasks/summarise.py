"""Summarise: a document → what it says, in short. n tokens in, m much fewer out.

With nothing given it learns to put headlines over short made reports: to find the sentence that tells what happened,
and in others who it was and where. With your own pairs it takes subwords and a larger network. `truncate` reads
the first tokens of a document alone (See, Liu & Manning 2017, section 5.1, take 400); 0 reads all of it.

    regard train summarise --data articles.jsonl data.source=document data.target=summary
"""

from typing import Annotated, Any, ClassVar

from regard.find import PLAIN, In, Of, Spec
from regard.ranges import Dropout, Length, LengthOrNone, Width
from regard.tasks._generation import Generation, SampledAttention, Searching, Teaching
from regard.tasks._measured import BestMetric, LabelSmoothing, Metrics
from regard.tasks._sampled import REINFORCE
from regard.train.suggest import Recipe, generation

__all__ = ["Summarise"]

ENCODER: Spec = {"name": "recurrent", "hidden": 256, "layers": 1, "dropout": 0.3}
DECODER: Spec = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.3}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax"}


class Summarise(Generation):
    """A document in, its summary out (Rush, Chopra & Weston 2015; Nallapati et al. 2016)."""

    name: ClassVar[str] = "summarise"
    known: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("document", "summary"),
        ("article", "summary"),
        ("article", "highlights"),
        ("dialogue", "summary"),
        ("text", "summary"),
        ("body", "subject"),
    )
    default_data: ClassVar[str] = "builtin:headlines"
    recipe: ClassVar[Recipe] = staticmethod(generation)
    preset: ClassVar[dict[str, Any]] = {
        "source": {"name": "word", "split": "punctuation"},
        "target": {"name": "word", "split": "punctuation"},
        "best_metric": "exact_match",
        "embed": 96,
        "encoder": {"name": "recurrent", "hidden": 96, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 96, "hidden": 128, "place": "after", "feed": False, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 96}},
        "dropout": 0.0,
        "label_smoothing": 0.0,
        "train": {"epochs": 2, "time": "120s", "batch_tokens": 2048, "lr": 6e-3, "warmup": 50, "ema": 0.99},
    }

    def __init__(
        self,
        source: Annotated[Spec, In("text"), "how the document is split into tokens"] = "bpe",
        target: Annotated[Spec, In("text"), "how the summary is split into tokens"] = "bpe",
        embed: Annotated[Width, "size of the document embeddings"] = 256,
        encoder: Annotated[Spec, In("encode"), "how the document is read"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the document"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "how the summary is written"] = DECODER,
        search: Searching = "beam",
        metrics: Metrics = (
            "rouge",
            "exact_match",
            "perplexity",
            "bleu",
            "chrf",
            "alignment",
        ),
        best_metric: BestMetric = "rouge",
        label_smoothing: LabelSmoothing = 0.1,
        dropout: Annotated[Dropout, "dropout on the document embeddings"] = 0.3,
        max_length: Annotated[Length, "longest document or summary, in tokens"] = 2048,
        teach: Teaching = PLAIN,
        reinforce: SampledAttention = REINFORCE,
        truncate: Annotated[LengthOrNone, "tokens read from the start of each document; 0 reads all of it"] = 0,
    ) -> None:
        parts = (source, target, embed, encoder, attention, decoder, search, metrics, best_metric)
        super().__init__(*parts, label_smoothing, dropout, max_length, teach, reinforce=reinforce, truncate=truncate)

    def room(self, source: int) -> int:
        """A summary is shorter than its document, but for the shortest."""
        return min(self.max_length, source // 2 + 40)
