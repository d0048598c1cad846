"""The report of `regard data`: statistics of a data set and its problems.

print(report(load("builtin:dates", task.fields.values(), known=()), task.fields))
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from regard.data.problems import Problem, are_labels, names, problems
from regard.data.splits import Splits
from regard.fields import Field
from regard.types import Example

__all__ = ["Part", "Report", "report"]

steps = {"min": 0.0, "5 %": 0.05, "median": 0.5, "95 %": 0.95, "max": 1.0}
Sizes = dict[str, tuple[int, ...]]
"""Unit ("words") → quantiles, in the order of `steps`."""


@dataclass(frozen=True)
class Part:
    """One split in numbers."""

    rows: int
    distinct: int  # different inputs
    sizes: dict[str, Sizes]  # by role
    alphabet: int  # different characters of all texts
    labels: dict[str, int] | None  # how often each, where targets are labels
    references: tuple[int, int, int]  # right targets: all, the fewest and the most of one example


@dataclass(frozen=True)
class Report:
    parts: dict[str, Part]
    notes: list[str]  # how the files were read, and what was skipped
    problems: list[Problem]  # errors first, then advice

    @property
    def refused(self) -> bool:
        """Whether training refuses this data."""
        return any(problem.severity == "error" for problem in self.problems)

    def to_dict(self) -> dict[str, Any]:
        return {"refused": self.refused, **asdict(self)}

    def __str__(self) -> str:
        table = [["", "examples", "distinct", "alphabet", "size of", "in", *steps]]
        for name, part in self.parts.items():
            head = [name, f"{part.rows:,}", f"{part.distinct:,}", f"{part.alphabet:,}" if part.alphabet else ""]
            for role, sizes in part.sizes.items():
                for unit, quantiles in sizes.items():
                    table.append([*head, role, unit, *(f"{n:,}" for n in quantiles)])
                    head, role = ["", "", "", ""], ""
        said = _aligned(table)
        for name, part in self.parts.items():
            total, fewest, most = part.references
            if most > 1:
                said.append(f"{name}: {total:,} references for {part.rows:,} examples, {fewest} to {most} each")
            if part.labels is not None:
                top = [f"{label or '(none)'} {count:,}" for label, count in list(part.labels.items())[:10]]
                count = f"{len(part.labels)} label{'s' * (len(part.labels) != 1)}"
                said.append(f"{name}: {count}: {', '.join(top)}" + ", …" * (len(part.labels) > 10))
        errors, advice = ([one for one in self.problems if one.severity == some] for some in ("error", "advice"))
        for title, lines in (
            ("how it was read:", [f"  {note}" for note in self.notes]),
            ("train refuses this data:", [line for one in errors for line in _with_places(one)]),
            ("advice:", [f"  {problem}" for problem in advice]),
        ):
            said += ["", title, *lines] if lines else []
        return "\n".join(said if self.problems else [*said, "", "no problems found"])


def _with_places(problem: Problem) -> list[str]:
    return [f"  {problem}", *(f"    {place}" for place in problem.examples)]


def report(splits: Splits, fields: Mapping[str, Field], errors: Iterable[Problem] = ()) -> Report:
    """`fields` are those of the columns by role, inputs first and the target last; `errors` come first."""
    parts = {name: _part(rows, fields) for name in names if (rows := getattr(splits, name))}
    return Report(parts, [*splits.notes], [*errors, *problems(splits, list(fields.values()))])


def _part(rows: list[Example], fields: Mapping[str, Field]) -> Part:
    columns = [*zip(*(e.inputs for e in rows), strict=True), [target for e in rows for target in e.references]]
    values = dict(zip(fields, columns, strict=False))  # text alone has no target
    last = list(fields.values())[-1]
    labels = Counter(e.target for e in rows) if last.words("") is not None and are_labels(rows) else Counter()
    if last.labels("") is not None:
        labels = Counter(label for e in rows for label in last.labels(e.target) or ())
    shown = last.labels("") is not None or len(labels) > 1  # the only one of a few texts is no label
    alphabet = {c for role, field in fields.items() if field.textual for text in values[role] for c in text}
    counts = [len(e.references) for e in rows]
    return Part(
        rows=len(rows),
        distinct=len({e.inputs for e in rows}),
        sizes={role: _quantiles(field.sizes(values[role])) for role, field in fields.items() if any(values[role])},
        alphabet=len(alphabet),
        labels=dict(sorted(labels.items(), key=lambda item: (-item[1], item[0]))) if shown else None,
        references=(sum(counts), min(counts), max(counts)),
    )


def _quantiles(sizes: Mapping[str, Sequence[int]]) -> Sizes:
    # "lower" is a size that some value has
    return {
        unit: tuple(int(n) for n in np.quantile(numbers, list(steps.values()), method="lower"))
        for unit, numbers in sizes.items()
    }


def _aligned(table: list[list[str]]) -> list[str]:
    """Left-aligns words and right-aligns numbers."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    left = (0, 4, 5)
    rows = (
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in table
    )
    return [row.rstrip() for row in rows]
