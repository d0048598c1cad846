"""What a data set holds, and what may be wrong with it: what `regard data` shows.

print(report(load(default="builtin:dates", columns=2, known=(), labels=None)))
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.data.problems import Problem, are_labels, names, problems
from regard.data.splits import Labels, Splits
from regard.types import Example

__all__ = ["Lengths", "Part", "Report", "report"]

steps = {"min": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "max": 1.0}


@dataclass(frozen=True)
class Lengths:
    """Quantiles of how long the texts are, in the order of `steps`."""

    characters: tuple[int, ...]
    words: tuple[int, ...]  # between white space


@dataclass(frozen=True)
class Part:
    """One split in numbers."""

    rows: int
    distinct: int  # different inputs
    inputs: tuple[Lengths, ...]
    target: Lengths
    alphabet: int  # different characters, inputs and targets together
    labels: dict[str, int] | None  # how often each, where targets are classes rather than texts


@dataclass(frozen=True)
class Report:
    parts: dict[str, Part]
    problems: list[Problem]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        table = [["", "examples", "distinct", "alphabet", "length of", "in", *steps]]
        for name, part in self.parts.items():
            several = len(part.inputs) > 1
            sides = [(f"input {i}" if several else "source", side) for i, side in enumerate(part.inputs, 1)]
            head = [name, f"{part.rows:,}", f"{part.distinct:,}", f"{part.alphabet:,}"]
            if any(part.target.characters):  # text alone has none
                sides.append(("target", part.target))
            for side, lengths in sides:
                table.append([*head, side, "characters", *(f"{n:,}" for n in lengths.characters)])
                table.append(["", "", "", "", "", "words", *(f"{n:,}" for n in lengths.words)])
                head = ["", "", "", ""]
        said = _aligned(table)
        for name, part in self.parts.items():
            if part.labels is not None:
                most = [f"{label or '(none)'} {count:,}" for label, count in list(part.labels.items())[:10]]
                count = f"{len(part.labels)} label{'s' * (len(part.labels) != 1)}"
                said.append(f"{name}: {count}: {', '.join(most)}" + ", …" * (len(part.labels) > 10))
        said.append("")
        said += [str(problem) for problem in self.problems] or ["no problems found"]
        return "\n".join(said)


def report(splits: Splits, labels_of: Labels | None = None) -> Report:
    """`labels_of` tells the labels of an example, which may have several; without it targets are told by their look."""
    parts = {name: _part(rows, labels_of) for name in names if (rows := getattr(splits, name))}
    return Report(parts, problems(splits))


def _part(rows: list[Example], labels_of: Labels | None) -> Part:
    sides = min(len(e.inputs) for e in rows)
    labels = Counter(e.target for e in rows) if are_labels(rows) and any(e.target for e in rows) else None
    if labels_of is not None:
        labels = Counter(label for e in rows for label in labels_of(e))
    alphabet: set[str] = set()
    for e in rows:
        alphabet.update(*e.inputs, e.target)
    return Part(
        rows=len(rows),
        distinct=len({e.inputs for e in rows}),
        inputs=tuple(_lengths([e.inputs[side] for e in rows]) for side in range(sides)),
        target=_lengths([e.target for e in rows]),
        alphabet=len(alphabet),
        labels=None if labels is None else dict(sorted(labels.items(), key=lambda item: (-item[1], item[0]))),
    )


def _lengths(texts: Sequence[str]) -> Lengths:
    def quantiles(numbers: list[int]) -> tuple[int, ...]:
        # "lower" is a length that some text has
        return tuple(int(n) for n in np.quantile(numbers, list(steps.values()), method="lower"))

    return Lengths(quantiles([len(text) for text in texts]), quantiles([len(text.split()) for text in texts]))


def _aligned(table: list[list[str]]) -> list[str]:
    """Words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    left = (0, 4, 5)
    rows = (
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )
    return [row.rstrip() for row in rows]
