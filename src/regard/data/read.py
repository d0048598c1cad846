"""Files → examples: TSV (`.tsv`, `.txt`), CSV, JSON lines (`.jsonl`, `.json`), CoNLL columns (`.conll`, `.bio`,
`.iob`), lines with the label first, or parallel files; each may be `.gz`. `form` says what a file is where its name
does not.

Without `fields`, TSV and CSV have no header and exactly `columns` columns, of which the last is the
target; a single column is an input without a target. With `fields`, the first line is a header and
the named columns are taken, the last named as the target; where all names are numbers there is no
header and they count the columns, from 1. JSON lines are read by key (`a.b` reaches into tables), by default `source`
and `target`; a number is read as it is written. Where the header, or the keys of the first line, hold all the names of
one of the `known` sets, that set is taken without being asked for.

- `labelled`: the first word of a line is the target, the rest the text ("1 a fine film", as SST and TREC come).
- `conll`: a token a line, its label last, a blank line after each sentence (see conll.py).

A row whose `gold_label` is "-" has no label its annotators agreed on (SNLI): it is left out, and `notes` says so.

    read("train.tsv")                                   # a line: source TAB target
    read("SICK_train.txt", fields=("sentence_A", "sentence_B", "relatedness_score"))
    read("snli_1.0_dev.jsonl", columns=3, known=(("sentence1", "sentence2", "gold_label"),))
    read("snli.tsv", fields=("2", "3", "1"))             # the label stands first
    read("stsa.binary.train", form="labelled")
    read_parallel(("train.de.gz", "train.en.gz"))
"""

import csv
import gc
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, Literal

from regard.data.conll import read_conll
from regard.data.lines import each_line
from regard.errors import RegardError, brief
from regard.find import nearest
from regard.reading import longest
from regard.types import Example

__all__ = ["Form", "form_of", "pick", "read", "read_parallel"]

Form = Literal["auto", "labelled", "conll", "tsv", "csv", "jsonl"]
forms: dict[str, Form] = {
    ".tsv": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".conll": "conll",
    ".bio": "conll",
    ".iob": "conll",
}
undecided = {"gold_label": "-"}  # what stands where a label should, by the name of the field


@contextmanager
def kept() -> Iterator[None]:
    """No looking for garbage meanwhile: all that is made stays, and walking over it would double the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def form_of(path: str) -> Form:
    """The form that the name of a file tells; "auto" where it tells none."""
    return forms.get(Path(path.removesuffix(".gz")).suffix.lower(), "auto")


@kept()
def read(
    path: str,
    columns: int = 2,
    fields: tuple[str, ...] = (),
    known: tuple[tuple[str, ...], ...] = (),
    form: Form = "auto",
    notes: list[str] | None = None,
) -> list[Example]:
    """The examples of one file, in order; what was left out is added to `notes`."""
    kind = form_of(path) if form == "auto" else form
    text = _without_last_blanks(path, each_line(path))
    first = next(text, None)  # before all else: a file that is not there says more than its ending
    if kind == "auto":
        raise RegardError(
            f"{path}: unknown file type",
            expected=", ".join(forms) + " (each may be .gz)",
            do="set data.form=, or give both parallel files as 'train.de,train.en'",
        )
    if first is None:
        raise RegardError(f"{path}: only blank lines", expected="one example per line")
    text = chain([first], text)
    if kind in ("labelled", "conll") and columns > 2:
        raise RegardError(
            f"{path}: read as {kind}, which has one input", expected=f"{columns - 1} inputs, as in tsv or jsonl"
        )
    if kind == "labelled":
        if fields:
            raise RegardError(
                f"{path}: read as labelled, which has no named columns", do="remove data.source= and data.target="
            )
        return _labelled(path, text, columns)
    if kind == "conll":
        return read_conll(path, text, columns, fields)
    if kind == "jsonl":
        if known and not fields:
            fields = _recognised(_keys(first), columns, known)
        if columns > 2 and not fields:
            raise RegardError(
                f"{path}: {columns - 1} inputs without names",
                do="name the keys, for example data.source=premise,hypothesis data.target=label",
            )
        examples = _json_lines(path, text, fields or ("source", "target")[:columns])
    else:
        split = _csv(path, text) if kind == "csv" else ((n, line.split("\t")) for n, line in enumerate(text, 1))
        if known and not fields:
            header = next(split)
            fields, split = _recognised(header[1], columns, known), chain([header], split)
        examples = _table(path, split, columns, fields, "tab" if kind == "tsv" else "comma")
    return _decided(path, examples, fields, notes)


def _keys(line: str) -> list[str]:
    """The keys of a line of JSON; none where it is no object, which is said when it is read."""
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return list(first) if isinstance(first, dict) else []


def _recognised(there: list[str], columns: int, known: tuple[tuple[str, ...], ...]) -> tuple[str, ...]:
    return next((names for names in known if len(names) == columns and set(names) <= set(there)), ())


def _decided(path: str, examples: list[Example], fields: tuple[str, ...], notes: list[str] | None) -> list[Example]:
    """Without the examples whose label says that there is none."""
    nothing = undecided.get(fields[-1]) if len(fields) > 1 else None
    if nothing is None:
        return examples
    agreed = [example for example in examples if example.target != nothing]
    if not agreed:
        raise RegardError(f"{path}: every {fields[-1]} is {nothing!r}", expected="labels")
    if notes is not None and len(agreed) < len(examples):
        left = f"{len(examples) - len(agreed):,} of {len(examples):,}"
        notes.append(f"{path}: skipped {left} examples: {fields[-1]} is {nothing!r} (no agreed label)")
    return agreed


@kept()
def read_parallel(paths: Sequence[str]) -> list[Example]:
    """Line n of each file belongs together; the last file holds the targets. A line may be empty."""
    rows: list[tuple[str, ...]] = []
    ended, blank = False, 0  # whether one of the files has; how many lines are empty in all of them since the last row
    for row in zip_longest(*map(each_line, paths)):
        ended = ended or None in row
        if not any(row):
            blank += 1
        elif ended:
            raise _uneven(paths)
        else:
            _few(paths[0], blank)
            rows += [("",) * len(paths)] * blank + [row]
            blank = 0
    if not rows:
        raise RegardError(f"{paths[0]}: only blank lines", expected="one example per line")
    return [Example(row[:-1], row[-1], f"{paths[0]}:{number}") for number, row in enumerate(rows, 1)]


def _uneven(paths: Sequence[str]) -> RegardError:
    counts = ", ".join(f"{path} has {sum(1 for _ in each_line(path)):,} lines" for path in paths)
    return RegardError(counts, expected="the same number", do="check that the files are parallel")


blanks = 1_000_000  # in a row: more are a damaged file


def _few(path: str, count: int) -> None:
    if count > blanks:
        raise RegardError(f"{path}: more than {blanks:,} blank lines in a row", do="remove them")


def _without_last_blanks(path: str, text: Iterator[str]) -> Iterator[str]:
    waiting: list[str] = []
    for line in text:
        if line.strip(" \r"):
            if waiting:
                yield from waiting
                waiting = []
            yield line
        else:
            waiting.append(line)
            _few(path, len(waiting))


def _example(values: Sequence[str], where: str) -> Example:
    return Example(tuple(values[:-1]), values[-1], where) if len(values) > 1 else Example((values[0],), "", where)


def _table(
    path: str, rows: Iterator[tuple[int, list[str]]], columns: int, fields: tuple[str, ...], between: str
) -> list[Example]:
    chosen: list[int] = []
    if fields:
        number, header = next(rows)
        columns = len(header)
        if all(name.isdecimal() for name in fields):
            rows = chain([(number, header)], rows)
            header = [str(column) for column in range(1, columns + 1)]
        for name in fields:
            if header.count(name) != 1:
                found = "twice in" if name in header else "not in"
                raise RegardError(f"{path}:1: {name!r} is {found} the header", do=nearest(name, header))
        chosen = [header.index(name) for name in fields]
    examples = []
    for number, row in rows:
        if len(row) != columns or row == [""]:
            raise _wrong_width(f"{path}:{number}", row, columns, bool(fields), between)
        examples.append(_example([row[i] for i in chosen] if chosen else row, f"{path}:{number}"))
    if not examples:
        raise RegardError(f"{path}: no lines after the header", expected="one example per line")
    return examples


def _wrong_width(where: str, row: list[str], columns: int, header: bool, between: str) -> RegardError:
    if row in ([], [""]):
        return RegardError(f"{where}: blank line", do="remove it")
    if header:
        expected = f"{columns}, as in line 1"
    else:
        named = {1: " (text)", 2: " (source, target)"}.get(columns, f" ({columns - 1} inputs, target)")
        expected = f"{columns}{named}"
    do = f"remove the extra {between}" if len(row) > columns else f"separate the fields with a {between}"
    if len(row) > columns and not header:
        do += ", or name the columns with data.source= and data.target= if line 1 is a header"
    return RegardError(f"{where}: {len(row)} field{'s' * (len(row) != 1)}", expected=expected, do=do)


def _csv(path: str, text: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Rows with the line they begin on: a quoted field may run over several."""
    limit = csv.field_size_limit(longest)  # a field may be a whole document, but a quote that never closes is none
    reader = csv.reader((line + "\n" for line in text), strict=True)
    begin = 1
    try:
        for row in reader:
            yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise RegardError(f"{path}:{begin}: not CSV ({error})", do="check the quotes in that row") from None
    finally:
        csv.field_size_limit(limit)


def _labelled(path: str, text: Iterable[str], columns: int) -> list[Example]:
    examples = []
    for number, line in enumerate(text, 1):
        label, *rest = re.split("[ \t]+", line, maxsplit=1)
        if not label or not any(rest):
            got = repr(line[:40]) if line.strip(" \t") else "blank line"
            raise RegardError(f"{path}:{number}: {got}", expected="a label, a space and the text")
        examples.append(Example((rest[0],), label if columns > 1 else "", f"{path}:{number}"))
    return examples


def _json_lines(path: str, text: Iterable[str], fields: tuple[str, ...]) -> list[Example]:
    examples = []
    for number, line in enumerate(text, 1):
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:  # not JSON, or a number of thousands of digits
            if not line.strip():
                raise RegardError(f"{where}: blank line", do="remove it") from None
            raise RegardError(f"{where}: not JSON ({error})", expected="one object per line") from None
        if not isinstance(row, dict):
            raise RegardError(f"{where}: a JSON {type(row).__name__}", expected="one object per line")
        values = [_told(pick(row, name, where), f"{where}: {name!r}") for name in fields]
        if "\\u" in line:
            for name, value in zip(fields, values, strict=True):
                if any("\ud800" <= character <= "\udfff" for character in value):
                    raise RegardError(f"{where}: {name!r} contains an unpaired surrogate", expected="valid Unicode")
        examples.append(_example(values, where))
    return examples


def _told(value: Any, what: str) -> str:
    """A value as text; scores are numbers, and often classes are."""
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
            raise RegardError(
                f"{where}: no field {name!r}", do=nearest(name, _paths(row)) + " (set data.source=, data.target=)"
            )
        value = value[key]
    return value


def _paths(row: Mapping[str, Any], before: str = "", deep: int = 0) -> list[str]:
    """What could have been meant: the first names, no deeper than people nest tables."""
    found = []
    for key, value in islice(row.items(), 100):
        inside = isinstance(value, Mapping) and deep < 3
        found += _paths(value, f"{before}{key}.", deep + 1) if inside else [f"{before}{key}"]
    return found
