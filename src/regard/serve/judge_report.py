"""The results of human evaluation: means with intervals, wins, and the judges' agreement.

- mean adequacy and fluency of a system over all judges and lines; 95 % bootstrap intervals that draw lines
- mean rank: 1 + how many were placed before it + half of those placed with it, over lines ranked in full
- of two systems, how often the first was better, as good, worse
- Krippendorff's α over all judges, ordinal for marks, nominal for better/equal/worse; Cohen's κ for each two judges

Systems that wrote the same for a line are equal there; judges were shown that text once, so it is one unit for α and κ.
A comparison counts in both directions, so that it does not matter which system is named first.

    report(Path("judgements.sqlite"))["systems"][0]["adequacy"]["mean"]
"""

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean
from typing import Any

from regard.serve.agreement import alpha, interval, kappa
from regard.serve.judge_store import Latest, existing

__all__ = ["report"]

Unit = tuple[int, ...]  # a line and one system of it, or two
Given = dict[Unit, dict[str, int]]  # what each judge said of it
scales = ("adequacy", "fluency")


def report(path: Path) -> dict[str, Any]:
    """All of it, as plain lists and tables that JSON can hold; what is not known yet is None."""
    with existing(path) as store:
        facts, names, marks, groups = store.facts(), store.names(), store.latest(), store.groups()
    places = _places(marks, groups, len(names))
    units = {scale: _rated(marks, scale, groups) for scale in scales} | {"better": _compared(places, groups)}
    judges = sorted({mark.judge for mark in marks})
    systems = [
        {"name": name, **{scale: _mean(marks, system, scale) for scale in scales}, **_rank(places, system, len(names))}
        for system, name in enumerate(names)
    ]
    return {
        "judges": judges,
        "lines": {"judged": len({mark.line for mark in marks}), "of": int(facts["count"])},
        "marks": len(marks),
        "systems": sorted(systems, key=lambda one: (one["rank"] is None, one["rank"], one["name"])),
        "pairs": [_pair(places, one, two, names) for one, two in _by_name(names)],
        "alpha": {
            what: alpha((list(given.values()) for given in of.values()), "nominal" if what == "better" else "ordinal")
            for what, of in units.items()
        },
        "kappa": [
            {"judges": [one, two], **{what: _two(of, one, two) for what, of in units.items()}}
            for one, two in combinations(judges, 2)
        ],
    }


def _by_name(names: list[str]) -> Iterable[tuple[int, int]]:
    return combinations(sorted(range(len(names)), key=lambda system: names[system]), 2)


def _places(
    marks: list[Latest], groups: dict[int, list[list[int]]], systems: int
) -> dict[tuple[str, int], dict[int, int]]:
    """By judge and line, the place of each system; where all wrote the same nobody was asked, and all are first."""
    places: defaultdict[tuple[str, int], dict[int, int]] = defaultdict(dict)
    for mark in marks:
        if len(groups[mark.line]) == 1:
            places[mark.judge, mark.line] = dict.fromkeys(range(systems), 1)
        elif mark.question == "place":
            places[mark.judge, mark.line][mark.system] = mark.value
    return dict(places)


def _mean(marks: list[Latest], system: int, scale: str) -> dict[str, Any]:
    by_line: defaultdict[int, list[float]] = defaultdict(list)
    for mark in marks:
        if mark.system == system and mark.question == scale:
            by_line[mark.line].append(float(mark.value))
    values = [value for line in by_line.values() for value in line]
    low, high = interval([by_line[line] for line in sorted(by_line)]) or (None, None)
    return {"mean": fmean(values) if values else None, "low": low, "high": high, "marks": len(values)}


def _rank(places: dict[tuple[str, int], dict[int, int]], system: int, systems: int) -> dict[str, Any]:
    ranks = [
        sum((place < of[system]) + (place <= of[system]) for place in of.values()) / 2 + 0.5
        for of in places.values()
        if len(of) == systems
    ]
    return {"rank": fmean(ranks) if ranks else None, "ranked": len(ranks)}


def _pair(places: dict[tuple[str, int], dict[int, int]], one: int, two: int, names: list[str]) -> dict[str, Any]:
    signs = [_sign(of[one], of[two]) for of in places.values() if one in of and two in of]
    shares = {
        what: signs.count(sign) / len(signs) if signs else None
        for what, sign in (("wins", 1), ("ties", 0), ("losses", -1))
    }
    return {"systems": [names[one], names[two]], **shares, "judged": len(signs)}


def _sign(one: int, two: int) -> int:
    return (one < two) - (one > two)


def _rated(marks: list[Latest], scale: str, groups: dict[int, list[list[int]]]) -> Given:
    """By line and text."""
    units: defaultdict[Unit, dict[str, int]] = defaultdict(dict)
    first = {(line, min(group)) for line, of in groups.items() for group in of}
    for mark in marks:
        if mark.question == scale and (mark.line, mark.system) in first:
            units[mark.line, mark.system][mark.judge] = mark.value
    return units


def _compared(places: dict[tuple[str, int], dict[int, int]], groups: dict[int, list[list[int]]]) -> Given:
    """By line and two texts, in both directions."""
    units: defaultdict[Unit, dict[str, int]] = defaultdict(dict)
    for (judge, line), of in places.items():
        for one, two in permutations((min(group) for group in groups[line]), 2):
            if one in of and two in of:
                units[line, one, two][judge] = _sign(of[one], of[two])
    return units


def _two(units: Given, one: str, two: str) -> float | None:
    return kappa([(given[one], given[two]) for given in units.values() if one in given and two in given])
