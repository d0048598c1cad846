"""CoNLL columns → examples for tagging: one token per line, its label last, a blank line after each sentence.

Columns are separated by a tab or by spaces; every line has as many as the first. `-DOCSTART-` lines are skipped.
Tokens and labels of a sentence are joined with spaces, so neither may contain one. `fields` may give the two columns
by number, from 1: ("1", "2") reads the parts of speech of CoNLL-2003 (Tjong Kim Sang & De Meulder 2003), whose last
column has named entities.

CoNLL-U (Nivre et al. 2016) is recognised by its ten columns with a number first: words and universal parts of speech
are read unless `fields` names others; comments, ranges of words (1-2) and empty words (1.1) are skipped.

    read_conll("eng.conll", ["EU NNP B-ORG", "rejects VBZ O"])  # [Example(("EU rejects",), "B-ORG O", "eng.conll:1")]
"""

import re
from collections.abc import Iterable
from itertools import chain

from regard.data.readlog import ReadLog
from regard.errors import RegardError
from regard.types import Example

__all__ = ["read_conll"]

comment = re.compile(r"#\s*(\S+\s*=|new(doc|par)\b)")  # of CoNLL-U, before a sentence
skipped = re.compile(r"[0-9]+[-.][0-9]+")
most = 1_000_000  # tokens of a sentence: more are a file without blank lines


def read_conll(
    path: str,
    text: Iterable[str | None],
    columns: int = 2,
    fields: tuple[str, ...] = (),
    log: ReadLog | None = None,
) -> list[Example]:
    """One example per sentence; with `columns=1` labels are optional and ignored.

    Of a sentence with a bad line nothing is read.
    """
    log = log or ReadLog()
    if not all(name.isdecimal() and int(name) > 0 for name in fields):
        raise RegardError(
            f"{path}: columns {', '.join(fields)}", expected="numbers, for example data.source=1 data.target=2"
        )
    wanted = [int(name) - 1 for name in fields] or [0, -1][:columns]
    examples: list[Example] = []
    rows: list[list[str]] = []  # of the sentence so far
    width = first = 0
    universal = False  # CoNLL-U
    broken = False  # whether a line of it is
    for number, line in enumerate(chain(text, [""]), 1):
        cells = ["?"] if line is None else [] if not rows and comment.match(line) else _cells(line)
        if not width and len(cells) == 10 and cells[0] in ("1", "1-2"):
            universal, wanted = True, [int(name) - 1 for name in fields] or [1, 3][:columns]
            if not fields:
                log.decide(f"{path}: read as CoNLL-U: words and their parts of speech (columns 2 and 4)")
        if universal and cells and skipped.fullmatch(cells[0]):
            width = width or len(cells)
            continue
        if line is None or (broken and cells):
            broken = True
        elif cells and cells[0] != "-DOCSTART-":
            if not width:
                width, first = len(cells), number
            if len(rows) == most:
                raise RegardError(
                    f"{path}:{number}: sentence longer than {most:,} tokens", do="separate sentences with blank lines"
                )
            try:
                rows.append(_chosen(f"{path}:{number}", cells, wanted, width, first))
            except RegardError as error:
                log.failed("fields", f"{path}:{number}", error)
                broken, width = True, width if examples or rows else 0
        elif broken:
            rows, broken = [], False
        elif rows:
            sides = [" ".join(row[side] for row in rows) for side in range(len(wanted))]
            examples.append(Example((sides[0],), "".join(sides[1:]), f"{path}:{number - len(rows)}"))
            rows = []
    if not examples:
        raise log.nothing(path, "no tokens")
    return examples


def _cells(line: str) -> list[str]:
    line = line.rstrip(" \t\r")
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def _chosen(where: str, cells: list[str], wanted: list[int], width: int, first: int) -> list[str]:
    """The token of a line, and its label if needed."""
    if len(wanted) > 1 and len(cells) == 1:
        raise RegardError(f"{where}: 1 column", expected="a token and its label, separated by a space or a tab")
    if len(cells) != width:
        raise RegardError(f"{where}: {len(cells)} columns", expected=f"{width}, as in line {first}")
    if max(wanted) >= width:
        raise RegardError(f"{where}: no column {max(wanted) + 1}", expected=f"1 to {width}")
    chosen = [cells[column] for column in wanted]
    for cell in chosen:
        if len(cell.split()) != 1:
            raise RegardError(f"{where}: {cell!r}", expected="one word without spaces")
    return chosen
