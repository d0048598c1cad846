"""Escapes user text for Markdown: names of files, folders, labels and options.

f"# {escaped(folder.name)}"      # <script>, [links](…), `code`, | and line breaks stay letters
f"| bleu | {code(signature)} |"
fenced("sh", command)
"""

import re

__all__ = ["code", "escaped", "fenced"]

# Marks anywhere; an underscore only where it is not inside a word; and what would make an address a link.
marks = re.compile(r"[\\`*\[\]<>|~&$#]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|@|(?<=\bwww)\.")


def _one_line(text: str) -> str:
    """The text without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def escaped(text: str) -> str:
    """Text within a line, a heading or a table cell; not at the start of a line."""
    return marks.sub(lambda mark: f"\\{mark[0]}", _one_line(text))


def code(text: str) -> str:
    """Inline code, also in a table cell."""
    line = _one_line(text).replace("|", r"\|")  # a bar would end the cell, inside code too
    ticks = "`" * (_longest(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(language: str, *lines: str) -> list[str]:
    """A fenced code block that its content cannot close."""
    fence = "`" * max(3, *(_longest(line) + 1 for line in lines))
    return [f"{fence}{language}", *lines, fence]


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
