"""What separates the fields of a table, found from its first lines.

The separator that goes with the name of the file (a tab, or a comma for `.csv`) is taken unless another one splits the
lines more evenly into enough fields.

    found(["text;label", "a fine, fine film;good"], "csv", columns=2)  # ";"
"""

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress

from regard.errors import RegardError

__all__ = ["found", "name_of", "named", "rows"]

names = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
usual = {"tsv": "\t", "csv": ","}
even = 0.8  # the share of the lines that have the usual number of fields, at least


def name_of(separator: str) -> str:
    return next((name for name, one in names.items() if one == separator), repr(separator))


def named(separator: str) -> str:
    """The character that an option names."""
    one = names.get(separator, "\t" if separator == "\\t" else separator)
    if one != "::" and (len(one) != 1 or one in '"\r\n'):
        raise RegardError(f"data.separator={separator!r}", expected=f"auto, {', '.join(names)} or one character, or ::")
    return one


def found(lines: Sequence[str], form: str, columns: int) -> str:
    """The separator of a table of at least so many columns."""
    first = usual[form]
    if columns < 2:
        return first
    evenness = {one: _evenness(lines, one, columns) for one in dict.fromkeys([first, "\t", ";", ",", "|"])}
    best = max(evenness.values())
    return first if best < even or evenness[first] == best else max(evenness, key=lambda one: evenness[one])


def _evenness(lines: Sequence[str], separator: str, columns: int) -> float:
    """The share of the rows that have the most frequent number of fields; 0 if these are too few."""
    counts = Counter(len(row) for row in rows(lines, separator) if row)
    if not counts:
        return 0.0
    [(fields, times)] = counts.most_common(1)
    return times / counts.total() if fields >= columns else 0.0


def rows(lines: Iterable[str], separator: str) -> list[list[str]]:
    """Rows as far as they can be read; the last may be cut."""
    read: list[list[str]] = []
    with suppress(csv.Error):  # a field that never ends
        read.extend(csv.reader((line + "\n" for line in lines), delimiter=separator))
    return read
