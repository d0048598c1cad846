"""Problems of a data set, one per line: what, how many, where, what to do.

Nothing here changes the data. Each check is a function of the splits and gives at most one finding per split;
`checks` lists them, the most serious first. These are advice; what training refuses is an error: lines that cannot be
used (`faulty`), and data that cannot be learned from (`regard.train.refusals`).

    for problem in problems(splits, fields): print(problem)
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Literal

from regard.data.header import all_usual_names
from regard.data.readlog import Fault
from regard.data.splits import Splits
from regard.errors import counted
from regard.fields import Field
from regard.types import Example

__all__ = ["Problem", "are_labels", "faulty", "problems"]

odd = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\ufeff\ufffd]")
long = 2_000  # characters of a text that most models will not take whole
few = 4  # examples that may each have a label of its own
ratio = 4.0  # how far from the median the lengths of source and target may stand apart
names = ("train", "valid", "test")


@dataclass(frozen=True)
class Problem:
    kind: str  # one word, for programs
    split: str  # or the file
    count: int
    what: str
    examples: tuple[str, ...]  # up to three places
    do: str
    severity: Literal["error", "advice"] = "advice"  # training refuses the data for an error

    def __str__(self) -> str:
        if self.severity == "error":
            return "; ".join(filter(None, [f"{self.split}: {self.what}", self.do]))
        noun = {"header": "line", "character": "character", "labels": "label"}.get(self.kind, "example")
        places = f", e.g. {self.examples[0]}" if self.examples else ""
        return f"{self.split}: {counted(self.count, noun)} {self.what}{places}; {self.do}"


Found = Iterator[Problem]
Parts = dict[str, list[Example]]


def at(example: Example) -> str:
    """Where an example was read, or its first characters."""
    return example.where or repr(example.source if len(example.source) <= 40 else example.source[:40] + "…")


def are_labels(examples: list[Example]) -> bool:
    """Whether targets look like labels: few distinct, short ones for many examples."""
    different = {example.target for example in examples}
    few = len(different) <= max(2, min(100, len(examples) // 5))
    return few and all(len(target) <= 40 for target in different)


def problems(splits: Splits, fields: Sequence[Field]) -> list[Problem]:
    """`fields` are those of the columns; the characters of values that are not text are not looked at."""
    parts = {name: part for name in names if (part := getattr(splits, name))}
    texts = {name: [_text_only(e, fields) for e in part] for name, part in parts.items()}
    labelled = fields[-1].labels("") is not None and not fields[-1].spaced
    found = [check(texts if check in of_characters else parts) for check in checks]
    if labelled:
        found += [many_labels(parts), similar_labels(parts)]
    return [problem for some in found for problem in some]


def faulty(faults: Iterable[Fault]) -> list[Problem]:
    """Lines that cannot be used: training refuses them."""
    skip = "or set data.skip=true to skip them"
    return [
        Problem(f.kind, f.path, f.count, f.what, tuple(f.first), f"{f.do or 'repair them'}, {skip}", "error")
        for f in faults
    ]


def _text_only(example: Example, fields: Sequence[Field]) -> Example:
    """The example without values that are not text, as the path of a picture."""
    if all(field.textual for field in fields):
        return example
    values = [
        value if field.textual else "" for value, field in zip((*example.inputs, example.target), fields, strict=False)
    ]
    return replace(example, inputs=tuple(values[: len(example.inputs)]), where=at(example))


def _some(kind: str, split: str, bad: Iterable[str], what: str, do: str) -> Found:
    places = list(bad)
    if places:
        yield Problem(kind, split, len(places), what, tuple(places[:3]), do)


def headers(parts: Parts) -> Found:
    """A header line that was read as an example."""
    firsts = {name: part[0] for name, part in parts.items()}
    fields = {name: (*first.inputs, first.target) for name, first in firsts.items()}
    for name, first in firsts.items():
        same = all(first.inputs) and sum(fields[name] == other for other in fields.values()) > 1
        if same or {field.strip().lower() for field in fields[name]} <= all_usual_names():
            do = "if it is a header, set data.header=true"
            yield from _some("header", name, [at(first)], "that looks like a header", do)


def leaks(parts: Parts) -> Found:
    """The same inputs in two splits (leakage)."""
    for left, right in (("train", "valid"), ("train", "test"), ("valid", "test")):
        if left in parts and right in parts:
            seen = {e.inputs: e for e in reversed(parts[left])}
            both = [f"{at(e)} = {at(seen[e.inputs])}" for e in parts[right] if e.inputs in seen]
            yield from _some("leak", right, both, f"with the same source as in {left}", "remove them from one split")


def many_labels(parts: Parts) -> Found:
    """Labels that hardly any two examples share: perhaps another column was meant."""
    train = parts.get("train", [])
    different = {example.target for example in train}
    if len(train) >= few and 2 * len(different) > len(train):
        what = f"for {len(train):,} examples: hardly any two have the same"
        yield Problem("labels", "train", len(different), what, (), "check that data.target= names the column of labels")


def similar_labels(parts: Parts) -> Found:
    """Labels that differ in case alone: for a model they are as different as any two."""
    alike = defaultdict(list)
    for label in dict.fromkeys(e.target for e in parts.get("train", [])):
        alike[label.casefold()].append(label)
    pairs = [" and ".join(map(repr, some)) for some in alike.values() if len(some) > 1]
    yield from _some("labels", "train", pairs, "written in several ways", "write them alike")


def new_labels(parts: Parts) -> Found:
    train = parts.get("train", [])
    if train and are_labels(train):
        known = {e.target for e in train}
        for name in names[1:]:
            new = [f"{e.target!r} at {at(e)}" for e in parts.get(name, []) if e.target not in known]
            yield from _some("label", name, new, "with a label that is not in train", "check the spelling")


def new_characters(parts: Parts) -> Found:
    """Characters that never occur in train; the model can neither read nor write them."""
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
    """Mixed Unicode forms: é as one character and as e with an accent look the same but are different tokens."""
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


several = ("fine if several targets are right", "if several targets are right, set data.group=true")


def conflicts(parts: Parts) -> Found:
    for name, part in parts.items():
        first: dict[tuple[str, ...], Example] = {}
        bad = [
            f"{at(e)} and {at(before)}" for e in part if (before := first.setdefault(e.inputs, e)).target != e.target
        ]
        do = "decide which is right" if are_labels(part) else several[name != "train"]
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
    """Targets far longer or shorter than expected from their source: often misaligned lines."""
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
of_characters = (headers, new_characters, odd_characters, mixed_forms, copies, long_rows, odd_ratios)
