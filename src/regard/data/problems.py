"""What may be wrong with a data set, one finding a line: what, how many, where, what to do.

Nothing here changes data. Each check is a function of the splits and gives at most a finding for each
split; `checks` is the list of them, the gravest first.

    for problem in problems(splits): print(problem)
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from regard.data.splits import Splits
from regard.errors import counted
from regard.types import Example

__all__ = ["Problem", "are_labels", "problems"]

odd = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff\ufffd]")
long = 2_000  # characters of a text that most models will not take whole
ratio = 4.0  # how far from the median the lengths of source and target may stand apart
usual_headers = {
    *("source", "target", "src", "tgt", "trg", "input", "output", "text", "label", "class", "sentence", "score"),
    *("question", "answer", "premise", "hypothesis", "sentence1", "sentence2", "query", "response", "summary"),
}
names = ("train", "valid", "test")


@dataclass(frozen=True)
class Problem:
    kind: str  # one word, for programs
    split: str
    count: int
    what: str
    examples: tuple[str, ...]  # up to three places
    do: str

    def __str__(self) -> str:
        noun = {"header": "line", "character": "character"}.get(self.kind, "example")
        return f"{self.split}: {counted(self.count, noun)} {self.what}, e.g. {self.examples[0]}; {self.do}"


Found = Iterator[Problem]
Parts = dict[str, list[Example]]


def at(example: Example) -> str:
    """Where an example was read, or how it begins."""
    return example.where or repr(example.source if len(example.source) <= 40 else example.source[:40] + "…")


def are_labels(examples: list[Example]) -> bool:
    """Few targets for many examples, and no sentences: classes, or steps of a scale."""
    different = {example.target for example in examples}
    few = len(different) <= max(2, min(100, len(examples) // 5))
    return few and all(len(target) <= 40 for target in different)


def problems(splits: Splits) -> list[Problem]:
    parts = {name: part for name in names if (part := getattr(splits, name))}
    return [problem for check in checks for problem in check(parts)]


def _some(kind: str, split: str, bad: Iterable[str], what: str, do: str) -> Found:
    places = list(bad)
    if places:
        yield Problem(kind, split, len(places), what, tuple(places[:3]), do)


def headers(parts: Parts) -> Found:
    """A first line that names the columns, read as if it were an example."""
    firsts = {name: part[0] for name, part in parts.items()}
    fields = {name: (*first.inputs, first.target) for name, first in firsts.items()}
    for name, first in firsts.items():
        same = sum(fields[name] == other for other in fields.values()) > 1
        if same or {field.strip().lower() for field in fields[name]} <= usual_headers:
            do = "if it is a header, name the columns with data.source= and data.target="
            yield from _some("header", name, [at(first)], "that looks like a header", do)


def leaks(parts: Parts) -> Found:
    """The same inputs in two splits: what is measured on them was learnt by heart."""
    for left, right in (("train", "valid"), ("train", "test"), ("valid", "test")):
        if left in parts and right in parts:
            seen = {e.inputs: e for e in reversed(parts[left])}
            both = [f"{at(e)} = {at(seen[e.inputs])}" for e in parts[right] if e.inputs in seen]
            yield from _some("leak", right, both, f"with the same source as in {left}", "remove them from one split")


def empties(parts: Parts) -> Found:
    for name, part in parts.items():
        no_source = [at(e) for e in part if not all(text.strip() for text in e.inputs)]
        yield from _some("empty", name, no_source, "with an empty source", "remove them")
        no_target = [at(e) for e in part if not e.target.strip()]
        if len(no_target) < len(part):  # all empty: there are no targets
            yield from _some("empty", name, no_target, "with an empty target", "remove them")


def new_labels(parts: Parts) -> Found:
    train = parts.get("train", [])
    if train and are_labels(train):
        known = {e.target for e in train}
        for name in names[1:]:
            new = [f"{e.target!r} at {at(e)}" for e in parts.get(name, []) if e.target not in known]
            yield from _some("label", name, new, "with a label that is not in train", "check the spelling")


def new_characters(parts: Parts) -> Found:
    """Characters that train never shows cannot be read, nor written."""
    for side, texts in (("source", lambda e: e.inputs), ("target", lambda e: (e.target,))):
        known: set[str] = set().union(*(text for e in parts.get("train", []) for text in texts(e)))
        for name in names[1:]:
            for_each: dict[str, str] = {}
            for e in parts.get(name, []):
                for character in sorted(set().union(*texts(e)) - known):
                    for_each.setdefault(character, at(e))
            new = [f"{c if c.isprintable() else ascii(c)[1:-1]} at {where}" for c, where in sorted(for_each.items())]
            yield from _some("character", name, new, f"of the {side} not in train", "they become <unk>")


def odd_characters(parts: Parts) -> Found:
    for name, part in parts.items():
        bad = [
            f"U+{ord(match[0]):04X} at {at(e)}"
            for e in part
            if (match := next((m for text in (*e.inputs, e.target) if (m := odd.search(text))), None))
        ]
        yield from _some("odd", name, bad, "with control characters or U+FFFD", "repair or remove them")


def mixed_forms(parts: Parts) -> Found:
    """é as one character and as e with an accent look alike and are different tokens."""
    whole, apart = 0, defaultdict(list)
    for name, part in parts.items():
        for e in part:
            for text in (*e.inputs, e.target):
                if not text.isascii():
                    if not unicodedata.is_normalized("NFC", text):
                        apart[name].append(at(e))
                        break
                    whole += not unicodedata.is_normalized("NFD", text)
    if whole:
        for name, bad in apart.items():
            yield from _some("form", name, bad, "not in Unicode form NFC, unlike others", "convert all text to NFC")


def repeats(parts: Parts) -> Found:
    for name, part in parts.items():
        before: set[tuple[tuple[str, ...], str]] = set()
        again = []
        for e in part:
            if (e.inputs, e.target) in before:
                again.append(at(e))
            before.add((e.inputs, e.target))
        yield from _some("repeat", name, again, "repeated from an earlier line", "remove them unless they are intended")


def conflicts(parts: Parts) -> Found:
    for name, part in parts.items():
        first: dict[tuple[str, ...], Example] = {}
        bad = [
            f"{at(e)} and {at(before)}" for e in part if (before := first.setdefault(e.inputs, e)).target != e.target
        ]
        do = "decide which is right" if are_labels(part) else "fine if several targets are right"
        yield from _some("conflict", name, bad, "with the source of an earlier example but another target", do)


def copies(parts: Parts) -> Found:
    for name, part in parts.items():
        bad = [at(e) for e in part if e.target in e.inputs and e.target.strip()]
        yield from _some("copy", name, bad, "whose target equals the source", "remove them unless copying is the task")


def long_rows(parts: Parts) -> Found:
    for name, part in parts.items():
        bad = [at(e) for e in part if max(map(len, (*e.inputs, e.target))) > long]
        yield from _some(
            "long", name, bad, f"longer than {long:,} characters", "shorten them, or expect high memory use"
        )


def odd_ratios(parts: Parts) -> Found:
    """A target far longer or shorter than its source makes one expect: often a line that slipped."""
    train = parts.get("train", [])
    if not train or are_labels(train) or len(train[0].inputs) > 1:
        return
    usual = median((len(e.target) + 1) / (len(e.source) + 1) for e in train)
    for name, part in parts.items():
        bad = [
            at(e)
            for e in part
            if max(len(e.source), len(e.target)) >= 20  # of short texts any ratio is common
            and e.source
            and e.target
            and not 1 / ratio < (len(e.target) + 1) / (len(e.source) + 1) / usual < ratio
        ]
        if len(bad) > max(2, len(part) / 20):
            continue  # lengths are free here, as in summaries
        what = f"whose target is over {ratio:g} times longer or shorter than usual"
        yield from _some("ratio", name, bad, what, "check that source and target match")


checks: list[Callable[[Parts], Found]] = [
    headers,
    leaks,
    empties,
    new_labels,
    new_characters,
    odd_characters,
    mixed_forms,
    repeats,
    conflicts,
    copies,
    long_rows,
    odd_ratios,
]
