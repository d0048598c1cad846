"""How well a task did, one file a measure: `bleu` for texts, `accuracy` for labels, `pearson` for numbers.

A measure takes the `Results` on a whole set and gives numbers by name; the first is the one to rank by,
and `better` says which way. A text beside the numbers (BLEU's signature) says how they were made.

    Bleu()(Results(examples, predictions))  →  {"bleu": 37.1, "bleu_signature": "nrefs:1|case:mixed|…"}
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from regard.errors import RegardError
from regard.types import Example, Prediction

__all__ = ["Measure", "Results"]


@dataclass(frozen=True)
class Results:
    """What a task did on a set: its own predictions, and how it fared when told the truth so far.

    Teacher-forced: `nats` is the sum of −log p over the target's tokens, `tokens` how many there were
    (the end counted), `right` how many of them were the likeliest. Where the answer is one label or one score,
    it counts as one token. `chosen` is the mean share of the input's tokens that an encoder kept, where it chooses.
    """

    examples: Sequence[Example]
    predictions: Sequence[Prediction]
    nats: float = 0.0
    tokens: int = 0
    right: int = 0
    chosen: float | None = None

    def pairs(self) -> list[tuple[Example, Prediction]]:
        """Each example with what was predicted for it; there must be some."""
        if len(self.examples) != len(self.predictions):
            raise RegardError(
                f"{len(self.predictions)} predictions", expected=f"one for each example, {len(self.examples)}"
            )
        if not self.examples:
            raise RegardError("no examples to measure on", expected="at least one")
        return list(zip(self.examples, self.predictions, strict=True))

    def counted(self) -> int:
        """The number of tokens; there must be some."""
        if self.tokens < 1:
            raise RegardError(
                "no target tokens were counted", expected="at least one", do="measure on a set with targets"
            )
        return self.tokens


@runtime_checkable
class Measure(Protocol):
    """Results → numbers by name."""

    better: Literal["higher", "lower"]

    def __call__(self, results: Results) -> dict[str, float | str]: ...
