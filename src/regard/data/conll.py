"""CoNLL columns → examples for tagging: one token a line, its label last, a blank line after each sentence.

Columns stand apart by a tab, or by spaces; every line has as many as the first. Lines of `-DOCSTART-` part documents
and are no tokens. A sentence becomes its tokens, and its labels, with one space between; so neither may hold a space.
`fields` may give the two columns by number, from 1: ("1", "2") takes the parts of speech of CoNLL-2003 (Tjong Kim Sang
& De Meulder 2003), whose last column are names.

    read_conll("eng.conll", ["EU NNP B-ORG", "rejects VBZ O"])  # [Example(("EU rejects",), "B-ORG O", "eng.conll:1")]
"""

from collections.abc import Iterable
from itertools import chain

from regard.errors import RegardError
from regard.types import Example

__all__ = ["read_conll"]

most = 1_000_000  # tokens of a sentence: more are a file without blank lines


def read_conll(path: str, text: Iterable[str], columns: int = 2, fields: tuple[str, ...] = ()) -> list[Example]:
    """A sentence each; with one column no label is wanted, and none need be there."""
    if not all(name.isdecimal() and int(name) > 0 for name in fields):
        raise RegardError(
            f"{path}: columns {', '.join(fields)}", expected="numbers, for example data.source=1 data.target=2"
        )
    wanted = [int(name) - 1 for name in fields] or [0, -1][:columns]
    examples: list[Example] = []
    rows: list[list[str]] = []  # of the sentence so far
    width = first = 0
    for number, line in enumerate(chain(text, [""]), 1):
        cells = _cells(line)
        if cells and cells[0] != "-DOCSTART-":
            if not width:
                width, first = len(cells), number
            if len(rows) == most:
                raise RegardError(
                    f"{path}:{number}: sentence longer than {most:,} tokens", do="separate sentences with blank lines"
                )
            rows.append(_chosen(f"{path}:{number}", cells, wanted, width, first))
        elif rows:
            sides = [" ".join(row[side] for row in rows) for side in range(len(wanted))]
            examples.append(Example((sides[0],), "".join(sides[1:]), f"{path}:{number - len(rows)}"))
            rows = []
    if not examples:
        raise RegardError(f"{path}: no tokens", expected="one token and its label per line")
    return examples


def _cells(line: str) -> list[str]:
    line = line.rstrip(" \t\r")
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def _chosen(where: str, cells: list[str], wanted: list[int], width: int, first: int) -> list[str]:
    """The token of a line, and its label where one is wanted."""
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
