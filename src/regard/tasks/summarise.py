"""Summarise: a document → what it says, in short. n tokens in, m much fewer out.

With nothing given it learns to put headlines over short made reports: to find the sentence that tells what happened,
and in others who it was and where. With your own pairs it takes subwords and a larger network. `truncate` reads
the first tokens of a document alone (See, Liu & Manning 2017, section 5.1, take 400); 0 reads all of it.

    regard train summarise --data articles.jsonl data.source=document data.target=summary
"""

from typing import Annotated, Any, ClassVar

from regard.find import PLAIN, In, Of, Spec
from regard.ranges import BelowOne, Dropout, Length, LengthOrNone, Width
from regard.tasks._generation import Generation
from regard.tasks._sampled import REINFORCE
from regard.train.suggest import Recipe, generation

__all__ = ["Summarise"]

ENCODER: Spec = {"name": "recurrent", "hidden": 256, "layers": 1, "dropout": 0.3}
DECODER: Spec = {"name": "recurrent", "hidden": 512, "place": "after", "feed": False, "dropout": 0.3}
ATTENTION: Spec = {"score": "additive", "weigh": "softmax"}


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
    default_data: ClassVar[str] = "made:headlines"
    recipe: ClassVar[Recipe] = staticmethod(generation)
    preset: ClassVar[dict[str, Any]] = {
        "source": {"name": "word", "split": "punctuation"},
        "target": {"name": "word", "split": "punctuation"},
        "best": "exact_match",
        "embed": 96,
        "encoder": {"name": "recurrent", "hidden": 96, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 96, "hidden": 128, "place": "after", "feed": False, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 96}},
        "drop": 0.0,
        "smoothing": 0.0,
        "train": {"epochs": 2, "time": "120s", "tokens": 2048, "rate": 6e-3, "warmup": 50, "average": 0.99},
    }

    def __init__(
        self,
        source: Annotated[Spec, In("text")] = "bpe",
        target: Annotated[Spec, In("text")] = "bpe",
        embed: Width = 256,
        encoder: Annotated[Spec, In("encode")] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make")] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate")] = DECODER,
        search: Annotated[Spec, In("search")] = "beam",
        measures: Annotated[tuple[Spec, ...], In("measure")] = (
            "rouge",
            "exact_match",
            "perplexity",
            "bleu",
            "chrf",
            "alignment",
        ),
        best: str = "rouge",
        smoothing: BelowOne = 0.1,
        drop: Dropout = 0.3,
        longest: Length = 2048,
        teach: Annotated[Spec, Of("train.teach.Teach")] = PLAIN,
        reinforce: Annotated[Spec, Of("attend.reinforce.Reinforce")] = REINFORCE,
        truncate: LengthOrNone = 0,
    ) -> None:
        parts = (source, target, embed, encoder, attention, decoder, search, measures, best)
        super().__init__(*parts, smoothing, drop, longest, teach, reinforce=reinforce, truncate=truncate)

    def room(self, source: int) -> int:
        """A summary is shorter than its document, but for the shortest."""
        return min(self.longest, source // 2 + 40)
