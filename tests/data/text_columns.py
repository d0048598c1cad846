"""Columns of text, for tests of reading and checking data."""

from typing import Any

from regard.data.read import Form, Reading, read
from regard.data.readlog import ReadLog
from regard.fields import Field
from regard.fields.text import Text
from regard.fields.tokens import Tokens
from regard.types import Example


def text_columns(count: int = 2) -> tuple[Field, ...]:
    """The fields of so many columns: texts to read, and where there are several, a text to write."""
    texts: list[Field] = [Text(end=True) for _ in range(max(1, count - 1))]
    return (*texts, *([Tokens()] if count > 1 else []))


def by_role(count: int = 2) -> dict[str, Field]:
    """The same by role, as a task has them."""
    names = {1: ["source"], 2: ["source", "target"], 3: ["premise", "hypothesis", "target"]}[count]
    return dict(zip(names, text_columns(count), strict=True))


def read_texts(
    path: str,
    columns: int = 2,
    fields: tuple[str, ...] = (),
    known: tuple[tuple[str, ...], ...] = (),
    form: Form = "auto",
    notes: list[str] | None = None,
    **how: Any,
) -> list[Example]:
    """A file with so many columns of text; what was left out is added to `notes`."""
    log = ReadLog(how.pop("skip", False))
    found = read(path, text_columns(columns), Reading(fields, known, form, **how), log)
    if notes is not None:
        notes.extend(log.notes())
    return found
