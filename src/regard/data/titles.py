"""Titles: the names of items, from a file beside the data, so that people see "Fargo (1996)" instead of 100.

Each line has an id and a title: MovieLens' u.item (`|`) and movies.dat (`::`), CSV or TSV with a header that names a
title, or without one.

    read_titles("u.item")["100"]       # "Fargo (1996)"
"""

import csv
from collections.abc import Sequence
from itertools import islice

from regard.data import separator
from regard.data.lines import TextFile
from regard.errors import RegardError, counted

__all__ = ["read_titles"]

NAMES = ("title", "name", "item_name", "product_name", "movie_title", "product_title")
LONGEST = 200  # characters of a title
SAMPLE = 100


def read_titles(path: str) -> dict[str, str]:
    """Id → title; lines without a title are left out."""
    lines = [line for line in TextFile(path).lines() if line]
    if not lines:
        raise RegardError(f"{path}: no lines", expected="an id and a title on each line")
    some = lines[:SAMPLE]
    if all("::" in line for line in some):
        rows = [line.split("::") for line in lines]
    else:
        form = "csv" if path.removesuffix(".gz").endswith(".csv") else "tsv"
        reader = csv.reader(lines, delimiter=separator.found(some, form, 2))
        try:
            rows = list(reader)
        except csv.Error as error:
            raise RegardError(
                f"{path}:{reader.line_num}: not CSV ({error})", do="check the quotes in that row"
            ) from error
    one, other, begin = _columns(rows[0])
    found = {
        row[one].strip(): " ".join(row[other].split())[:LONGEST]
        for row in islice(rows, begin, None)
        if len(row) > max(one, other) and row[one].strip() and row[other].strip()
    }
    if not found:
        raise RegardError(
            f"{path}: no titles in {counted(len(rows), 'line')}",
            expected="an id and a title, with a tab, comma or | between",
        )
    return found


def _columns(first: Sequence[str]) -> tuple[int, int, int]:
    """The columns of the id and of the title, and the first row that has them."""
    names = [cell.strip().lower().replace(" ", "_") for cell in first]
    title = next((names.index(name) for name in NAMES if name in names), None)
    if title is None:
        return 0, 1, 0
    return (0 if title else min(1, len(names) - 1)), title, 1
