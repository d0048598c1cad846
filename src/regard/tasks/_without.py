"""Leaving tokens out of an input before it is encoded: what would the model have said without this word?

`without` has one entry a row, and in it for each input the places of the tokens that are dropped, counted from 0 as
the columns of an attention map are. The rest stays as it was and in order.

    left([[7, 8, 9]], [((1,),)], side=0)                 # [[7, 9]]
"""

from collections.abc import Sequence
from inspect import signature
from typing import Any, TypeVar

from regard.errors import RegardError

__all__ = ["Without", "checked", "left"]

Without = Sequence[Sequence[Sequence[int]]]
"""Row → input → places; empty where nothing is left out."""

T = TypeVar("T")


def checked(task: Any, without: Without, rows: int, inputs: int) -> Without:
    """The same, if the task can do it and there is an entry a row with the places of each input."""
    if "without" not in signature(task.predict).parameters:
        raise RegardError(f"{task.name} leaves no tokens out", do="leave out without")
    if len(without) != rows:
        raise RegardError(f"without has {len(without)} entries", expected=f"{rows}, one a text")
    for entry in without:
        if len(entry) != inputs:
            raise RegardError(f"without names tokens of {len(entry)} inputs", expected=f"{inputs}")
    return without


def left(rows: Sequence[Sequence[T]], without: Without, side: int, what: str = "input") -> list[list[T]]:
    """Each row but for the tokens that `without` names for it; something must be left of one that had something."""
    if not without:
        return [list(row) for row in rows]
    found = []
    for number, (row, sides) in enumerate(zip(rows, without, strict=True), 1):
        out = set(sides[side])
        for place in sorted(out):
            if not 0 <= place < len(row):
                raise RegardError(
                    f"input {number}: no token {place} to leave out of the {what}", expected=f"0 to {len(row) - 1}"
                )
        kept = [token for place, token in enumerate(row) if place not in out]
        if row and not kept:
            raise RegardError(f"input {number}: nothing is left of the {what}", expected="at least one token kept")
        found.append(kept)
    return found
