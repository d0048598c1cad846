"""Files → examples: TSV (`.tsv`, `.tab`, `.txt`), CSV, JSON (`.jsonl`, `.ndjson`, `.json`), CoNLL columns (`.conll`,
`.bio`, `.iob`), lines with the label first, or parallel files; each may be `.gz`. docs/data.md is the user's guide.

`Reading` says how a file is written and which of its columns are meant. What it leaves open is found: the format by the
name of the file, the encoding (encoding.py), what separates the fields of a table (separator.py), whether the first
line is a header and which columns it names (header.py). Without a header the columns are the inputs and the target, in
this order; a single column is an input without a target. Columns can be named by a header, by JSON key (`a.b` for
nested objects) or by number, from 1.

- `labelled`: the first word of a line is the target, the rest the text ("1 a fine film", as in SST and TREC).
- `conll`: one token per line, its label last, a blank line after each sentence (see conll.py).

Numbers in JSON are read as written, and a target that is a list of strings gives several references. Rows with the
`gold_label` "-" have no agreed label (SNLI); they are skipped. Blank lines are skipped. `log` has all that was skipped
or found (see readlog.py).

    read("train.tsv", fields)                                           # a line: source TAB target
    read("reviews.csv", fields, Reading(names=("Review", "Sentiment")))
    read("snli.tsv", fields, Reading(names=("2", "3", "1")))            # the label stands first
    read_parallel(("train.de.gz", "train.en.gz"))
"""

import csv
import gc
import json
import math
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Literal

from regard.data import header, separator
from regard.data.conll import read_conll
from regard.data.json_rows import json_rows
from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.data.squad import answers_of
from regard.errors import RegardError, brief, listed
from regard.fields import Field
from regard.find import nearest
from regard.reading import longest
from regard.types import Example

__all__ = [
    *("Form", "Header", "Reading", "as_text", "decided", "form_of", "joined", "names_of", "pick", "read"),
    *("read_parallel", "references"),
]

Form = Literal["auto", "labelled", "conll", "tsv", "csv", "jsonl", "squad", "numbered", "cnn", "turns", "mbox"]
Header = bool | Literal["auto"]
forms: dict[str, Form] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".conll": "conll",
    ".conllu": "conll",
    ".bio": "conll",
    ".iob": "conll",
    ".mbox": "mbox",
}
CHOICES = ("choices", "candidates", "options")  # keys of the answers to choose from
undecided = {"gold_label": "-"}  # what stands where a label should, by the name of the field
sampled = header.sample + 1  # lines from which separator and header are found
Numbered = Iterator[tuple[int, str]]
Rows = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True)
class Reading:
    """How files are written, and which of their columns are meant."""

    names: tuple[str, ...] = ()  # of the columns, inputs first; "" for one that the header is to tell
    known: tuple[tuple[str, ...], ...] = ()  # sets of names that are taken where a file has them
    form: Form = "auto"
    header: Header = "auto"
    separator: str = "auto"
    encoding: str = "auto"

    @classmethod
    def of(cls, options: Mapping[str, Any], columns: int, known: tuple[tuple[str, ...], ...] = ()) -> "Reading":
        """By the options of `data`."""
        given = {key: options[key] for key in ("form", "header", "separator", "encoding") if key in options}
        return cls(names_of(options.get("source", ""), options.get("target", ""), columns), known, **given)

    @property
    def numbers(self) -> bool:
        """Whether columns are named by their numbers."""
        return bool(self.names) and all(name.isdecimal() for name in self.names)


def names_of(source: str, target: str, columns: int) -> tuple[str, ...]:
    """The names of all columns; "" for those that are not named, none at all where no column is."""
    if not source.strip(" ,") and not target.strip():
        return ()
    inputs = [name.strip() for name in source.split(",")]
    if not any(inputs):
        inputs = [""] * max(1, columns - 1)
    names = (*inputs, *([target.strip()] if columns > 1 or target.strip() else []))
    if len(names) != columns:
        raise RegardError(
            f"data.source={source!r} and data.target={target!r}",
            expected=f"{columns - 1 or 1} name{'s' * (columns > 2)} for source" + " and 1 for target" * (columns > 1),
        )
    return names


@contextmanager
def kept() -> Iterator[None]:
    """Turns garbage collection off: everything created stays, and scanning it would double the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def form_of(path: str) -> Form:
    """The format by the name of a file; "auto" if unknown."""
    return forms.get(Path(path.removesuffix(".gz")).suffix.lower(), "auto")


@kept()
def read(path: str, fields: Sequence[Field], how: Reading | None = None, log: ReadLog | None = None) -> list[Example]:
    """The examples of one file, in order. `fields` are those of the columns, inputs first."""
    how, log = how or Reading(), log or ReadLog()
    kind = form_of(path) if how.form == "auto" else how.form
    file = TextFile(path, how.encoding, log)  # before all else: a file that is not there says more than its ending
    if kind == "auto":
        raise RegardError(
            f"{path}: unknown file type",
            expected=", ".join(forms) + " (each may be .gz)",
            do="set data.form=, or give both parallel files as 'train.de,train.en'",
        )
    if kind in ("squad", "numbered", "cnn"):
        raise RegardError(f"{path}: read as {kind}, which has questions about documents", expected="the task answer")
    if kind in ("turns", "mbox"):
        raise RegardError(f"{path}: read as {kind}, which has messages and their replies", expected="the task reply")
    if kind == "tsv" and how.form == "auto" and (not how.names or how.numbers) and _is_conll(path, file, fields, log):
        kind = "conll"
    if kind in ("labelled", "conll") and len(fields) > 2:
        raise RegardError(
            f"{path}: read as {kind}, which has one input", expected=f"{len(fields) - 1} inputs, as in tsv or jsonl"
        )
    if kind == "labelled":
        if how.names:
            raise RegardError(
                f"{path}: read as labelled, which has no named columns", do="remove data.source= and data.target="
            )
        found = list(_labelled(path, file, len(fields), log))
    elif kind == "conll":
        found = read_conll(path, file.lines(), len(fields), how.names, log)
    elif kind == "jsonl":
        found = _json(path, file, fields, how, log)
    else:
        found = _table(path, file, kind, fields, how, log)
    if not found:
        raise log.nothing(path, "only blank lines")
    return found


def _is_conll(path: str, file: TextFile, fields: Sequence[Field], log: ReadLog) -> bool:
    """Whether a file has a token and its label in each line, and a blank line after each sentence."""
    lines = file.head.split("\n")[:-1]  # the last may be cut
    rows = [line.split() for line in lines if line.strip()]
    if not fields[-1].spaced or len(rows) < 2 or not any(not line.strip() for line in lines[1:-1]):
        return False
    width = Counter(map(len, rows)).most_common(1)[0][0]
    found = width > 1 and all(len(row) == width or row[0] == "-DOCSTART-" for row in rows)
    found = found and not any(" " in cell for line in lines for cell in line.split("\t") if "\t" in line)
    if found:
        log.decide(f"{path}: read as CoNLL, a token and its label per line; set data.form=tsv if that is wrong")
    return found


def _written(path: str, rows: Rows, log: ReadLog) -> Rows:
    """The rows that have something in them; those with nothing but empty fields are not blank lines."""
    for number, row in rows:
        if len(row) > 1 or (row and row[0].strip(" \r")):
            yield number, row
        else:
            log.blank(path, number)


def _example(values: Sequence[str], where: str) -> Example:
    return Example(tuple(values[:-1]), values[-1], where) if len(values) > 1 else Example((values[0],), "", where)


# --- tables ------------------------------------------------------------------------------------------------------


def _table(path: str, file: TextFile, kind: str, fields: Sequence[Field], how: Reading, log: ReadLog) -> list[Example]:
    lines: Numbered = ((number, line) for number, line in enumerate(file.lines(), 1) if line is not None)
    start = list(islice(lines, sampled))
    between = _separator(path, [line for _, line in start], kind, 2 if how.names else len(fields), how, log)
    lines = chain(start, lines)
    quoted = len(between) == 1 and (kind == "csv" or between != "\t")
    if kind == "tsv" and len(fields) == 1 and not how.names and _is_text(between, [line for _, line in start]):
        found: Rows = ((number, [line]) for number, line in lines)
    else:
        found = _quoted(path, lines, between, log) if quoted else _split(lines, between)
    rows = _written(path, found, log)
    first = list(islice(rows, sampled))
    if not first:
        return []
    named, chosen = _columns(path, first, fields, how, log)
    width = len(first[0][1]) if named or chosen else len(fields)
    examples: list[Example] = []
    for number, row in chain(first[1:] if named else first, rows):
        if len(row) != width:
            log.bad("fields", f"{path}:{number}", *_wrong_width(row, width, named, between, fields))
        else:
            examples.append(_example([row[i] for i in chosen] if chosen else row, f"{path}:{number}"))
    if not examples and named:
        raise log.nothing(path, "no lines after the header")
    target = first[0][1][chosen[-1]] if named and chosen and len(chosen) > 1 else ""
    return decided(path, examples, target, log)


def _is_text(between: str, lines: Sequence[str]) -> bool:
    """Whether tabs are part of the text: lines have none, or not the same number of them."""
    counts = Counter(line.count(between) for line in lines if line.strip())
    [(usual, times)] = counts.most_common(1) or [(0, 0)]
    return not usual or times < 0.8 * counts.total()


def _separator(path: str, lines: list[str], kind: str, columns: int, how: Reading, log: ReadLog) -> str:
    if how.separator != "auto":
        return separator.named(how.separator)
    between = separator.found(lines, kind, columns)
    if between != separator.usual[kind]:
        log.decide(f"{path}: separated by {separator.name_of(between)}; set data.separator= if that is wrong")
    return between


def _columns(
    path: str, rows: list[tuple[int, list[str]]], fields: Sequence[Field], how: Reading, log: ReadLog
) -> tuple[bool, tuple[int, ...]]:
    """Whether the first row is a header, and the columns that are read; none where they are all there are."""
    line, first = rows[0]
    by_name = bool(how.names) and not how.numbers
    auto = how.header == "auto" and not by_name and header.is_header([row for _, row in rows], fields, how.known)
    if by_name and how.header is False:
        raise RegardError(
            f"{path}: named columns with data.header=false", expected="column numbers, for example data.source=1"
        )
    named = by_name or auto or how.header is True
    chosen: tuple[int, ...] = ()
    if how.numbers:
        missing = next((name for name in how.names if not 0 < int(name) <= len(first)), "")
        if missing:
            raise RegardError(f"{path}:{line}: no column {missing}", expected=f"1 to {len(first)}")
        chosen = tuple(int(name) - 1 for name in how.names)
    elif named:
        names = [name.strip() for name in first]
        for name in filter(None, how.names):
            if names.count(name) != 1:
                raise _no_column(f"{path}:{line}", name, names)
        chosen = header.find(names, fields, how.known, how.names)
        if not chosen and (any(how.names) or len(first) != len(fields)):
            raise RegardError(
                f"{path}:{line}: {len(first)} columns ({_shown(names)})",
                expected=f"{len(fields)}",
                do="name the columns with " + " and ".join(["data.source=", "data.target="][: len(fields)]),
            )
        chosen = chosen or tuple(range(len(first)))
        if twice := next((names[column] for column in chosen if names.count(names[column]) > 1), ""):
            raise RegardError(
                f"{path}:{line}: {twice!r} is twice in the header", do="choose columns by number, as with data.source=1"
            )
        log.columns = log.columns or [names[column] for column in chosen]
    if auto:
        read = listed([repr(first[column].strip()) for column in chosen])
        log.decide(f"{path}: line {line} is a header; reading {read} (data.header=false reads the line as an example)")
    return named, chosen


def _no_column(where: str, name: str, there: Sequence[str]) -> RegardError:
    """The error for a name that no column has; those there are, the most similar first."""
    what = "twice in the header" if name in there else "not a column"
    return RegardError(f"{where}: {name!r} is {what}", do=f"{_near(name, there)}columns: {_shown(there, name)}")


def _near(name: str, there: Sequence[str]) -> str:
    said = nearest(name, there)
    return f"{said} " if said.startswith("did") and name not in there else ""


def _shown(names: Sequence[str], like: str = "") -> str:
    shown = [name for name in names if name and len(name) <= 100][:200]
    if like:
        shown.sort(key=lambda name: -SequenceMatcher(None, like.lower(), name.lower()).ratio())
    return ", ".join(shown[:30]) + ", …" * (len(shown) > 30)


def _wrong_width(
    row: list[str], width: int, named: bool, between: str, fields: Sequence[Field]
) -> tuple[str, str, str]:
    """What was got, what was expected, what to do."""
    name = separator.name_of(between)
    expected = f"{width}, as in line 1" if named or width != len(fields) else f"{width} ({', '.join(_roles(fields))})"
    do = f"remove the extra {name}" if len(row) > width else f"separate the fields with a {name}"
    if not named:
        do += ", set data.separator= if it is another" * (len(row) == 1)
        if len(row) == 1 and len(fields) == 2 and fields[1].labels("") is not None:
            do += ", set data.form=labelled if the first word of a line is its label"
        if len(row) > width:
            sides = ["data.source=" + ",".join("123"[: max(1, width - 1)]), f"data.target={width}"][: min(2, width)]
            do += f", or choose columns by name or number, as with {' '.join(sides)}"
    return f"{len(row)} field{'s' * (len(row) != 1)}", expected, do


def _roles(fields: Sequence[Field]) -> list[str]:
    """What the columns are called in messages."""
    both = len(fields) == 2 and all(field.words("") is not None for field in fields)
    return ["source", "target"] if both else [field.kind for field in fields]


def _split(lines: Numbered, between: str) -> Rows:
    return ((number, line.split(between)) for number, line in lines)


def _quoted(path: str, lines: Numbered, between: str, log: ReadLog) -> Rows:
    """Rows of CSV with the line they start on; a quoted field may span several lines.

    After a row with broken quotes reading goes on with the line after the one where it began.
    """
    again: deque[tuple[int, str]] = deque()
    since: list[tuple[int, str]] = []  # the lines of the row so far

    def given() -> Iterator[str]:
        while (one := again.popleft() if again else next(lines, None)) is not None:
            since.append(one)
            yield one[1] + "\n"

    limit = csv.field_size_limit(longest)  # a field may be a whole document, but a quote that never closes is none
    try:
        while True:
            reader = csv.reader(given(), delimiter=between, strict=True)
            try:
                for row in reader:
                    yield since[0][0], row
                    since.clear()
                return
            except csv.Error as error:
                where = f"{path}:{since[0][0]}"
                log.bad("quotes", where, f"not CSV ({error})", do="check the quotes in that row")
                again.extendleft(reversed(since[1:]))
                since.clear()
    finally:
        csv.field_size_limit(limit)


def decided(path: str, examples: list[Example], target: str, log: ReadLog) -> list[Example]:
    """The examples that have a label; `target` is the name of its column."""
    nothing = undecided.get(target)
    if nothing is None:
        return examples
    agreed = [example for example in examples if example.target != nothing]
    if examples and not agreed:
        raise RegardError(f"{path}: every {target} is {nothing!r}", expected="labels")
    if len(agreed) < len(examples):
        left = f"{len(examples) - len(agreed):,} of {len(examples):,}"
        log.decide(f"{path}: skipped {left} examples: {target} is {nothing!r} (no agreed label)")
    return agreed


# --- other forms -------------------------------------------------------------------------------------------------


def _labelled(path: str, file: TextFile, columns: int, log: ReadLog) -> Iterator[Example]:
    lines = ((number, [line]) for number, line in enumerate(file.lines(), 1) if line is not None)
    for number, [line] in _written(path, lines, log):
        label, *rest = re.split("[ \t]+", line, maxsplit=1)
        if not label or not any(rest):
            log.bad("fields", f"{path}:{number}", repr(line[:40]), "a label, a space and the text")
        else:
            yield Example((rest[0],), label if columns > 1 else "", f"{path}:{number}")


def _json(path: str, file: TextFile, fields: Sequence[Field], how: Reading, log: ReadLog) -> list[Example]:
    rows = json_rows(file, log)
    first = next(rows, None)
    if first is None:
        return []
    keys = _keys(path, first[1], fields, how, log)
    log.columns = log.columns or [*keys]
    examples = []
    for number, row, line in chain([first], rows):
        try:
            examples.append(_json_example(row, keys, fields, f"{path}:{number}", "\\u" in line))
        except RegardError as error:
            log.failed("value", f"{path}:{number}", error)
    return decided(path, examples, keys[-1] if len(keys) > 1 else "", log)


def _keys(path: str, row: Mapping[str, Any], fields: Sequence[Field], how: Reading, log: ReadLog) -> tuple[str, ...]:
    """The keys that are read."""
    columns, there = len(fields), list(row)
    if how.names and all(how.names):
        return how.names
    whole = any(len(names) == columns and set(names) <= set(there) for names in how.known)
    usual = ("source", "target")[:columns]
    if not any(how.names) and not whole and columns < 3 and set(usual) <= set(there):
        return usual
    if chosen := header.find(
        [*there, *(name for name in how.names if name not in there)], fields, how.known, how.names
    ):
        keys = tuple([*there, *how.names][column] for column in chosen)
        if not whole:
            read = listed([repr(key) for key in keys])
            log.decide(f"{path}: reading the keys {read}; data.source= and data.target= name others")
        return keys
    inside = [one for one in _paths(row) if "." in one]  # as in {"translation": {"de": …, "en": …}}
    if not any(how.names) and (chosen := header.find([one.rpartition(".")[2] for one in inside], fields)):
        keys = tuple(inside[column] for column in chosen)
        read = listed([repr(key) for key in keys])
        log.decide(f"{path}: reading the keys {read}; data.source= and data.target= name others")
        return keys
    if columns > 2 or any(how.names):
        raise RegardError(
            f"{path}: {columns - 1} input{'s' * (columns > 2)} without names",
            do="name the keys, for example data.source=premise,hypothesis data.target=label",
        )
    return usual


def _json_example(
    row: Mapping[str, Any], keys: tuple[str, ...], fields: Sequence[Field], where: str, escapes: bool
) -> Example:
    cells = [pick(row, name, where) for name in keys]
    more: list[str] = []
    spans: tuple[tuple[int, int], ...] = ()
    spaced = any(field.spaced for field in fields)
    if fields[-1].about_document and _answers(cells[-1]):
        (cells[-1], *more), spans = answers_of(cells[-1], f"{where}: {keys[-1]!r}")
    elif len(cells) > 1 and isinstance(cells[-1], list) and not fields[-1].spaced:
        cells[-1], *more = references(cells[-1], f"{where}: {keys[-1]!r}")
    values = [
        _value(cell, f"{where}: {name!r}", field, spaced) for name, cell, field in zip(keys, cells, fields, strict=True)
    ]
    if escapes:
        for name, value in [*zip(keys, values, strict=True), *((keys[-1], one) for one in more)]:
            if any("\ud800" <= character <= "\udfff" for character in value):
                raise RegardError(f"{where}: {name!r} contains an unpaired surrogate", expected="valid Unicode")
    example = _example(values, where)
    choices: list[Any] = next((row[key] for key in CHOICES if isinstance(row.get(key), list)), [])
    if fields[-1].about_document and choices and all(isinstance(one, str) for one in choices):
        example = replace(example, choices=tuple(choices))
    return replace(example, alternatives=tuple(more), spans=spans) if more or spans else example


def _answers(cell: Any) -> bool:
    """Whether answers are written with their places, as SQuAD's, or there are none."""
    return isinstance(cell, Mapping) or (isinstance(cell, list) and (not cell or isinstance(cell[0], Mapping)))


def _value(cell: Any, what: str, field: Field, spaced: bool) -> str:
    """A value as text: with `spaced` a list of tokens, labels or ids, and an object where the field reads one."""
    if spaced and isinstance(cell, list):
        return joined([as_text(one, what) for one in cell], what)
    if isinstance(cell, Mapping) and field.takes(text := json.dumps(cell, ensure_ascii=False)) and not field.takes(""):
        return text
    return as_text(cell, what)


def joined(parts: Sequence[str], what: str) -> str:
    """Tokens, labels or ids with spaces between."""
    if wrong := next((one for one in parts if not one or one.split() != [one]), None):
        raise RegardError(f"{what} has {wrong!r} in it", expected="tokens without spaces")
    return " ".join(parts)


def references(targets: list[Any], what: str) -> list[str]:
    """Several right targets, none twice."""
    if not targets or not all(isinstance(one, str) for one in targets):
        raise RegardError(f"{what} is {brief(targets, 40)}", expected="a string, a number or a list of strings")
    return list(dict.fromkeys(targets))


def as_text(value: Any, what: str) -> str:
    """A value as text; scores and labels may be numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return json.dumps(value)
    raise RegardError(f"{what} is {'null' if value is None else brief(value, 40)}", expected="a string or a number")


def pick(row: Mapping[str, Any], name: str, where: str) -> Any:
    """The value under a key, or under a path of keys such as `translation.de`."""
    if name in row:
        return row[name]
    value: Any = row
    for key in name.split("."):
        if not isinstance(value, Mapping) or key not in value:
            near, keys = nearest(name, there := _paths(row)), _shown(there, name)
            do = f"{near} " if near.startswith("did") else ""
            raise RegardError(f"{where}: no field {name!r}", do=f"{do}fields: {keys} (set data.source=, data.target=)")
        value = value[key]
    return value


def _paths(row: Mapping[str, Any], before: str = "", deep: int = 0) -> list[str]:
    """The first keys, for suggestions, to a small depth."""
    found = []
    for key, value in islice(row.items(), 100):
        inside = isinstance(value, Mapping) and deep < 3
        found += _paths(value, f"{before}{key}.", deep + 1) if inside else [f"{before}{key}"]
    return found


# --- parallel files ----------------------------------------------------------------------------------------------

blanks = 1_000_000  # in a row: more are a damaged file


@kept()
def read_parallel(paths: Sequence[str], encoding: str = "auto", log: ReadLog | None = None) -> list[Example]:
    """Examples from parallel files, line by line; the last file has the targets. Lines may be empty."""
    log = log or ReadLog()
    end: Any = object()  # stands for the lines of a file that has ended; a line that cannot be read is None
    rows: list[tuple[str | None, ...]] = []
    ended, blank = False, 0  # whether one of the files has; how many lines are empty in all of them since the last row
    for row in zip_longest(*(TextFile(path, encoding, log).lines() for path in paths), fillvalue=end):
        ended = ended or end in row
        if all(line is end or line == "" for line in row):
            blank += 1
        elif ended:
            raise _uneven(paths)
        else:
            if blank > blanks:
                raise RegardError(f"{paths[0]}: more than {blanks:,} blank lines in a row", do="remove them")
            rows += [("",) * len(paths)] * blank + [row]
            blank = 0
    examples = []
    for number, row in enumerate(rows, 1):
        texts = [line for line in row if line is not None]
        if len(texts) == len(paths):
            examples.append(_example(texts, f"{paths[0]}:{number}"))
    if not examples:
        raise log.nothing(paths[0], "only blank lines")
    return examples


def _uneven(paths: Sequence[str]) -> RegardError:
    log = ReadLog(skip=True)
    counts = [f"{path} has {sum(1 for _ in TextFile(path, 'auto', log).lines()):,} lines" for path in paths]
    return RegardError(", ".join(counts), expected="the same number", do="check that the files are parallel")
