"""Data given in Python instead of as a file: rows become examples.

    regard.train("classify", data=[("a fine film", "good"), ("a dull film", "bad"), …])
    regard.train("classify", data=frame)                                           # columns text and label
    regard.train("classify", data={"train": frame, "source": "Review", "target": "Sentiment"})

Rows are tuples (inputs first, target last), mappings with a value for each name, texts alone, or `Example`s. They come
from any iterable of these, a pandas or polars data frame, an Arrow table, a `Dataset` or `DatasetDict` of Hugging Face,
or a mapping of columns. None of those packages is imported.

A run cannot read such data again. What it records of the rows is a name with their number and a hash, `Given`; only
rows of the same name resume it.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from torch import Tensor

from regard.data import header
from regard.data.hf import splits as split_names
from regard.data.read import Reading, as_text, decided, joined, pick, references
from regard.data.readlog import ReadLog
from regard.errors import RegardError, brief, counted
from regard.fields import Field, Input
from regard.types import Example

__all__ = ["Given", "given_examples", "is_given", "options_of"]

PREFIX = "python:"
# Names of columns that are taken where none were given, after those that the task knows.
USUAL = (
    ("text",),
    ("source", "target"),
    ("text", "label"),
    ("input", "target"),
    ("image", "label"),
    ("tokens", "tags"),
    ("premise", "hypothesis", "label"),
)
PARTS = ("train", "valid", "test")
EXPECTED = "a file name, rows such as (text, label), a data frame or a Dataset"


class Given(str):
    """Rows, as the value of an option of `data`. As a string it is their name: `python:60 rows (9f86d081884c7d65)`."""

    rows: list[Any]
    classes: Mapping[str, Sequence[str]]  # column → the names of its class numbers
    part: str  # "valid " before the number of a row in a message, where it is not the training data

    def __new__(cls, rows: list[Any], classes: Mapping[str, Sequence[str]], part: str = "") -> "Given":
        one = super().__new__(cls, f"{PREFIX}{len(rows)} row{'s' * (len(rows) != 1)} ({_digest(rows)})")
        one.rows, one.classes, one.part = rows, classes, part
        return one

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.rows, self.classes, self.part


def options_of(data: Any) -> dict[str, Any]:
    """The options of `data`, for all that may be given in their place."""
    if not isinstance(data, Mapping) or _are_columns(data):
        return {"train": _part(data, "train")}
    table = dict({"train": data} if _are_splits(data) else data)
    whole = table.get("train")
    splits = _splits(table.pop("train")) if isinstance(whole, Mapping) and _are_splits(whole) else {}
    return {**splits, **{key: _part(value, key) if key in PARTS else value for key, value in table.items()}}


def _part(value: Any, name: str) -> str:
    return os.fspath(value) if isinstance(value, str | os.PathLike) else rows_of(value, name)


def rows_of(value: Any, name: str = "train") -> Given:
    """The rows of anything that has some."""
    what = "data" if name == "train" else f"data.{name}"
    classes: dict[str, Sequence[str]] = {}
    rows: Any = value
    if isinstance(value, np.ndarray | Tensor):
        raise RegardError(f"{what}: got an array", expected=EXPECTED, do="give its rows as tuples of Python values")
    if isinstance(value, Mapping) and _are_columns(value):
        columns = [list(column) for column in value.values()]
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(f"{name} has {len(column):,}" for name, column in zip(value, columns, strict=True))
            raise RegardError(f"{what}: columns of different lengths ({counts})", expected="the same number of values")
        rows = [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)]
    elif callable(getattr(value, "to_dicts", None)):  # polars
        rows = value.to_dicts()
    elif callable(getattr(value, "to_pylist", None)):  # Arrow
        rows = value.to_pylist()
    elif hasattr(value, "columns") and callable(getattr(value, "to_dict", None)):  # pandas
        rows = [{str(key): cell for key, cell in row.items()} for row in value.to_dict("records")]
    elif hasattr(value, "column_names") and isinstance(features := getattr(value, "features", None), Mapping):
        classes = {name: names for name, feature in features.items() if (names := _class_names(feature))}
    elif isinstance(value, Mapping | str | bytes | bytearray | Example) or not isinstance(value, Iterable):
        raise RegardError(f"{what}: got {brief(value)}", expected=EXPECTED)
    rows = list(rows)
    if not rows:
        raise RegardError(f"{what}: no rows", expected="one per example")
    return Given(rows, classes, "" if name == "train" else f"{name} ")


def _class_names(feature: Any) -> Sequence[str]:
    """The names of class labels, of a column or of the lists in it."""
    return getattr(feature, "names", None) or getattr(getattr(feature, "feature", None), "names", None) or ()


def _are_columns(data: Mapping[str, Any]) -> bool:
    """Whether a mapping holds columns of values: neither options nor, under a wrong name, rows."""
    if not data or not data.keys().isdisjoint(PARTS):
        return False
    columns = [one for one in data.values() if isinstance(one, Iterable) and not isinstance(one, str | bytes | Mapping)]
    return len(columns) == len(data) and not any(isinstance(next(iter(one), None), tuple | Mapping) for one in columns)


def _are_splits(data: Mapping[str, Any]) -> bool:
    """Whether it is a DatasetDict: every value is a data set."""
    return bool(data) and all(hasattr(one, "column_names") and hasattr(one, "features") for one in data.values())


def _splits(data: Mapping[str, Any]) -> dict[str, Given]:
    if "train" not in data:
        raise RegardError("data: no split 'train'", do=f"the data set has {', '.join(map(str, data))}")
    found = {part: next((data[name] for name in names if name in data), None) for part, names in split_names.items()}
    return {part: rows_of(rows, part) for part, rows in found.items() if rows is not None}


def _digest(rows: Iterable[Any]) -> str:
    """A hash of the rows; what JSON does not know counts by its bytes, or by its type alone."""
    state = blake2b(digest_size=8)
    for row in rows:
        try:
            state.update(json.dumps(row, default=_bare).encode() + b"\n")
        except (TypeError, ValueError, RecursionError):  # keys that are no strings, or a row that holds itself
            state.update(type(row).__name__.encode() + b"\n")
    return state.hexdigest()


def _bare(value: Any) -> Any:
    if isinstance(value, Example):
        return astuple(value)
    if isinstance(value, Mapping):
        return dict(value)
    if callable(to_bytes := getattr(value, "tobytes", None)):  # arrays, numbers of NumPy, pictures
        return blake2b(to_bytes(), digest_size=8).hexdigest()
    return type(value).__name__


def is_given(spec: str) -> bool:
    """Whether it names rows that were given in Python, here or when the run was trained."""
    return spec.startswith(PREFIX)


def given_examples(
    spec: str, fields: Sequence[Field], how: Reading | None = None, log: ReadLog | None = None
) -> list[Example]:
    """The examples of rows that were given in Python."""
    how, log = how or Reading(), log or ReadLog()
    if not isinstance(spec, Given):
        rows = spec.removeprefix(PREFIX).partition(" (")[0]
        raise RegardError(
            f"the data was given in Python ({rows}) and is not saved with the run",
            do="give it again: regard.train(…, data=rows), model.evaluate(rows), or a file with --data",
        )
    names = how.names if all(how.names) and not how.numbers else ()  # numbers are those of columns of a file
    if first := next((row for row in spec.rows if isinstance(row, Mapping)), None):
        names = names or _usual(first, fields, how.known, spec.part)
    examples, skipped = [], 0
    for number, row in enumerate(spec.rows, 1):
        where = f"{spec.part}row {number}"
        try:
            example = _example(row, where, fields, names, spec.classes)
        except RegardError as error:
            if not log.skip:
                raise
            log.bad("value", f"{spec.part}data:{number}", str(error).removeprefix(f"{where}: "))
            skipped += 1
            continue
        if example is not None:
            examples.append(example)
    if left := len(spec.rows) - len(examples) - skipped:
        log.decide(f"skipped {left:,} of {len(spec.rows):,} {spec.part}rows: they have no label")
    return decided(f"{spec.part}data".strip(), examples, names[-1] if len(names) > 1 else "", log)


def _usual(
    row: Mapping[str, Any], fields: Sequence[Field], known: Iterable[tuple[str, ...]], part: str
) -> tuple[str, ...]:
    """The first names that suit the task and are all there, else those that a header of a file would be known by."""
    columns = len(fields)
    possible = [names for names in dict.fromkeys((*known, *USUAL)) if len(names) == columns]
    if found := next((names for names in possible if set(names) <= row.keys()), None):
        return found
    keys = list(map(str, row))
    if chosen := header.find(keys, fields):
        return tuple(keys[column] for column in chosen)
    asked = {"source": ",".join(keys[: columns - 1 or 1]), **({"target": keys[-1]} if columns > 1 else {})}
    example = "".join(f', "{key}": "{value}"' for key, value in asked.items())
    raise RegardError(
        f"{part}row 1 has the keys {', '.join(keys[:20])}",
        expected=" or ".join(" and ".join(names) for names in possible) or f"{columns}",
        do=f'name them, for example data={{"train": rows{example}}}',
    )


def _example(
    row: Any, where: str, fields: Sequence[Field], names: tuple[str, ...], classes: Mapping[str, Sequence[str]]
) -> Example | None:
    """A row as an example; None where it has no label."""
    columns = len(fields)
    if isinstance(row, Example):
        if len(row.inputs) != (columns - 1 or 1):
            raise RegardError(f"{where}: {counted(len(row.inputs), 'input')}", expected=f"{columns - 1 or 1}")
        return row if row.where else replace(row, where=where)
    cells: list[Any]
    if isinstance(row, Mapping):
        cells = [pick(row, name, where) for name in names]
        for place, name in enumerate(names):
            if name in classes and (cells[place] is None or cells[place] == -1):
                return None
            cells[place] = _named(cells[place], classes.get(name, ()))
        called = [repr(name) for name in names]
    elif isinstance(row, str) or not isinstance(row, Iterable) or isinstance(row, bytes):
        cells, called = [row], ["the row"]
    else:
        cells, called = list(row), [f"value {number}" for number in range(1, columns + 1)]
    if len(cells) != columns:
        expected = f"{columns} ({'text' if columns == 1 else ', '.join(['input'] * (columns - 1) + ['target'])})"
        raise RegardError(f"{where}: {counted(len(cells), 'value')}", expected=expected)
    told = [f"{where}: {name}" for name in called]
    more: list[str] = []
    if columns > 1 and isinstance(cells[-1], list | tuple) and not fields[-1].spaced:
        cells[-1], *more = references(list(cells[-1]), told[-1])
    spaced = any(field.spaced for field in fields)
    texts = [_text(cell, what, field, spaced) for cell, what, field in zip(cells, told, fields, strict=True)]
    inputs, target = (texts[:-1], texts[-1]) if columns > 1 else (texts, "")
    return Example(tuple(inputs), target, where, alternatives=tuple(more))


def _named(value: Any, names: Sequence[str]) -> Any:
    """Class numbers by their names."""
    if names and isinstance(value, list):
        return [_named(one, names) for one in value]
    return names[value] if names and isinstance(value, int) and 0 <= value < len(names) else value


def _text(value: Any, what: str, field: Field, spaced: bool) -> str:
    """A value as the string that regard works with; with `spaced`, a list of tokens, labels or ids is joined."""
    if isinstance(value, str):
        return str(value)
    if isinstance(field, Input) and field.per_file:
        return field.given(value, what)
    if spaced and isinstance(value, list | tuple | np.ndarray):
        return joined([_text(one, what, field, False) for one in value], what)
    return as_text(value.item() if isinstance(value, np.generic) else value, what)
