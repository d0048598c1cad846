"""Whether the arguments of `regard predict` are files or texts.

An argument that exists is a file. Any other is a text, unless it looks like a path: then a name was mistyped, and
that is an error. `--text` makes every argument a text. So a file is never read as a text, and a mistyped name never
translated.

    texts_of(["Guten Tag"], as_texts=False)      # ["Guten Tag"]
    texts_of(["lines.tx"], as_texts=False)       # RegardError: lines.tx: no such file; did you mean 'lines.txt'? …
    texts_of(["lines.txt"], as_texts=False)      # None: files
"""

import os
import re
import sys
from collections.abc import Sequence

from regard.cli.inputs import Line
from regard.cli.show import plain
from regard.errors import RegardError, brief
from regard.reading import missing

__all__ = ["lines_of", "looks_like_path", "texts_of"]

ending = re.compile(r"\.[^\W\d]\w{0,4}$")
# What ends the name of a file, though there may be spaces in it.
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")
SUFFIXES = (".txt", ".tsv", ".csv", ".json", ".jsonl", ".gz", ".conll", *PICTURES)


def looks_like_path(argument: str) -> bool:
    """notes.tx, a/b, ~x, "my lines.txt"; not "and so on.", 3.5, "yes/no, or both"."""
    if argument.lower().endswith(SUFFIXES):
        return True
    if any(map(str.isspace, argument)):
        return False
    return argument.startswith("~") or "/" in argument or "\\" in argument or bool(ending.search(argument))


def exists(argument: str) -> bool:
    try:
        return argument == "-" or os.path.exists(os.path.expanduser(argument))
    except ValueError:  # a NUL
        return False


def texts_of(arguments: Sequence[str], as_texts: bool) -> list[str] | None:
    """The arguments, if they are texts; None if they are files."""
    if as_texts:
        if not arguments:
            raise RegardError("--text without a text", do="give a text, or remove --text to read standard input")
    else:
        files = [one for one in arguments if exists(one)]
        others = [one for one in arguments if one not in files]
        if mistyped := next((one for one in others if looks_like_path(one)), None):
            raise RegardError(str(missing(mistyped)), do="add --text if it is a text")
        if not others:
            return None
        if files:
            raise RegardError(
                f"{files[0]} is a file, and {brief(others[0])} is not", expected="only files, or only texts"
            )
        if words := [one for one in others if one.split() == [one] and not one.startswith("user:")]:
            also = f" and {len(words) - 1} more" if len(words) > 1 else ""
            said = f"{plain(brief(words[0]))}{also}: no such file, so read as text (--text says that it is one)"
            print(said, file=sys.stderr)
    if not all(one.strip() for one in arguments):
        raise RegardError("an empty text", expected="at least one character")
    return list(arguments)


def lines_of(texts: Sequence[str], size: int, wrong: RegardError) -> list[Line]:
    """Texts as lines of an input; `size` of them go together, as premise and hypothesis do."""
    if len(texts) % size:
        raise wrong
    rows = [tuple(texts[first : first + size]) for first in range(0, len(texts), size)]
    name = "text" if size == 1 else "pair"
    return [Line("\t".join(row), f"{name} {number}", values=row) for number, row in enumerate(rows, 1)]
