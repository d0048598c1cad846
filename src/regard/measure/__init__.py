"""Metrics, for example `bleu` for texts, `accuracy` for labels and `pearson` for numbers. One module per metric.

A metric takes the `Results` on a whole set and returns numbers by name. The first is the main one, and `better` says
whether higher or lower is better. Metrics of generated text count every reference of an example. A text among them
(BLEU's signature) documents the settings.

    Bleu()(Results(examples, predictions))  →  {"bleu": 37.1, "bleu_signature": "nrefs:1|case:mixed|…"}
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal, Protocol, runtime_checkable

from regard.errors import RegardError
from regard.types import Example, Prediction

__all__ = ["Measure", "PerExample", "Rank", "Results", "Suggested"]


@dataclass(frozen=True)
class Rank:
    """Where the target stands among all candidates: how many score higher, how many others score the same, and how many
    others there are. A target that is no candidate is `missing`, which counts as a miss however few there are."""

    above: int
    equal: int
    others: int
    missing: bool = False


@dataclass(frozen=True)
class Suggested:
    """What became of a message: the true reply, as far as it may be suggested, and what was suggested.

    `rank` is the place of the true reply among all that may be suggested, the first being 0; None where it is none of
    them. `intents` are those of the suggestions, one for each; none where the model was silent.
    """

    replied: bool  # whether there is a true reply at all
    rank: int | None
    sensitive: bool  # whether nothing may be suggested on this subject
    intents: tuple[str, ...]
    exact: bool = False  # whether the true reply is among the suggestions
    alike: bool = False  # whether a suggestion means what the true reply means

    @property
    def wanted(self) -> bool:
        """Whether a suggestion should be shown: one of them could be right."""
        return self.rank is not None and not self.sensitive


@dataclass(frozen=True)
class Results:
    """The results on a set: predictions, and the teacher-forced likelihood of the targets.

    Teacher-forced: `nats` is the sum of −log p over the target's tokens, `tokens` how many there were
    (the end counted), `right` how many of them were the likeliest. Where the answer is one label or one score,
    it counts as one token. `chosen` is the mean share of the input's tokens that an encoder kept, where it chooses;
    `policies` has that of each of its policies.
    `read` are the true targets as the model reads them, with where it looks, for examples whose grounding is known.
    `ranks` say where each target stands, where answers are ranked, and `suggested` what replies were suggested.
    """

    examples: Sequence[Example]
    predictions: Sequence[Prediction]
    nats: float = 0.0
    tokens: int = 0
    right: int = 0
    chosen: float | None = None
    read: Sequence[Prediction] = ()
    ranks: Sequence[Rank] = ()
    policies: Mapping[str, float] = field(default_factory=dict)
    suggested: Sequence[Suggested] = ()

    def __repr__(self) -> str:
        return f"<results: {len(self.predictions):,} predictions for {len(self.examples):,} examples>"

    def pairs(self) -> list[tuple[Example, Prediction]]:
        """Each example with what was predicted for it; there must be some."""
        if len(self.examples) != len(self.predictions):
            raise RegardError(
                f"{len(self.predictions)} predictions", expected=f"one for each example, {len(self.examples)}"
            )
        if not self.examples:
            raise RegardError("no examples to measure on", expected="at least one")
        return list(zip(self.examples, self.predictions, strict=True))

    def references(self) -> list[list[Any]]:
        """The first reference of every example, then the second of every example …; None where it has fewer.

        This is what sacrebleu takes, though its types know nothing of None.
        """
        return [list(column) for column in zip_longest(*(example.references for example in self.examples))]

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

    @abstractmethod
    def __call__(self, results: Results) -> dict[str, float | str]: ...


@runtime_checkable
class PerExample(Measure, Protocol):
    """A measure that also scores each example by itself, to compare models and to find the worst examples."""

    def each(self, results: Results) -> list[float]: ...
