"""What a comparison shows: which differences are clear, which are noise, and which models saw too little.

    conclusions(rows)   # best first → one `Conclusion` for each other model

A difference is clear if it is larger than the noise of the seeds (the same model trained again) and, where the measure
scores single examples, larger than the noise of the test set (other examples of the same kind). Models that saw less
than one epoch are not compared. Each model is compared with the best, without a correction for many comparisons.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from regard.errors import counted
from regard.find import find
from regard.intervals import Estimate, difference, paired

__all__ = ["Conclusion", "Row", "conclusions"]


@dataclass(frozen=True)
class Row:
    """One variant and its results over the seeds."""

    name: str
    best: str  # the measure
    parameters: int  # without word embeddings
    train: list[float]
    valid: list[float]  # for choosing between recipes
    test: list[float]
    chosen: list[float]  # share of tokens selected, for models that select
    measures: list[dict[str, Any]]
    epochs: list[float]  # passes over the training data
    tested: list[int]  # number of test examples
    held: int = 0  # number of test examples there are
    each: tuple[str, list[list[float]]] | None = None  # a measure, and its score of each test example for each seed
    epoch_seconds: float | None = None  # None until measured, like the next two
    test_seconds: float | None = None
    memory_mib: float | None = None


@dataclass(frozen=True)
class Conclusion:
    """What can be said of the best model and another, or of one that was not compared."""

    verdict: Literal["better", "noise", "none"]
    text: str
    best: str
    other: str
    seeds: Estimate | None = None  # difference of the means over seeds
    examples: Estimate | None = None  # mean difference of the scores of the same test examples
    metric: str = ""  # of these scores


def conclusions(rows: Sequence[Row]) -> list[Conclusion]:
    """The best model with enough training against each other one; rows are best first."""
    short = [row for row in rows if statistics.mean(row.epochs) < 1]
    enough = [row for row in rows if row not in short]
    return [*(_compared(enough[0], row) for row in enough[1:]), *(_too_short(row) for row in short)]


def _too_short(row: Row) -> Conclusion:
    said = f"No conclusion about {row.name}: it saw only {statistics.mean(row.epochs):.0%} of the training data. "
    return Conclusion("none", said + "Give it at least one epoch: more time, or a smaller model.", "", row.name)


def _compared(a: Row, b: Row) -> Conclusion:
    seeds, count = difference(a.test, b.test), len(a.test)
    metric, examples = _paired(a, b)
    names = f"{a.name} and {b.name}"
    over, on = _said(seeds), "" if examples is None else _said(examples)
    tests = counted(a.tested[0], "test example")
    of_one = f" {metric} by example:" if metric != a.best else ""  # where the measure itself has no such scores

    def found(verdict: Literal["better", "noise", "none"], text: str) -> Conclusion:
        return Conclusion(verdict, text, a.name, b.name, seeds, examples, metric)

    if seeds.low is not None and not seeds.clear:
        return found(
            "noise", f"The difference between {names} is within the noise of {counted(count, 'seed')}: {over}."
        )
    if examples is not None and not _favours(examples, metric):
        return found("noise", f"The difference between {names} is within the noise of {tests}:{of_one} {on}.")
    if seeds.low is None:
        more = "one seed may be luck: use --seeds 3 or more."
        if examples is None:
            return found("none", f"No conclusion about {names}: {more}")
        return found("none", f"{a.name} is better than {b.name} on these {tests}:{of_one} {on}. But {more}")
    means = f"{statistics.mean(a.test):.4g} against {statistics.mean(b.test):.4g}"
    return found("better", f"{a.name} is better than {b.name}: {a.best} {means}, {over} over {counted(count, 'seed')}.")


def _said(found: Estimate) -> str:
    bounds = "" if found.low is None else f" (95 % interval {found.low:.2g} to {found.high:.2g})"
    return f"difference {found.value:.2g}{bounds}"


def _favours(found: Estimate, metric: str) -> bool:
    """Whether the difference is clear, and for the first of the two."""
    lower = find("measure", metric).better == "lower"
    return found.clear and (found.value < 0) == lower


def _paired(a: Row, b: Row) -> tuple[str, Estimate | None]:
    """By the mean over the seeds of each example's score, where both were tested on the same examples."""
    if a.each is None or b.each is None or len({*a.tested, *b.tested}) > 1:
        return "", None
    sides = [[statistics.fmean(scores) for scores in zip(*row.each[1], strict=True)] for row in (a, b) if row.each]
    return a.each[0], paired(*sides)
