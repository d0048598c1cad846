"""What was looked at, ready to be shown: weights between output tokens (rows) and input tokens (columns).

A `Gaze` knows nothing of models. `print` it for a heat map in the terminal, end a notebook cell with
it for a figure that answers the mouse, or save it as a picture, a page, JSON or plain text:

    Gaze(weights, rows, columns, title="Dienstag, 5. März 2024").save("date.png")

Tokens are other people's text. JSON keeps them exactly; everything else shows them through `visible`.
"""

import json
import os
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from regard.errors import RegardError
from regard.files import write_whole
from regard.types import Token

__all__ = ["Gaze", "visible", "write"]


@dataclass(frozen=True, eq=False)
class Gaze:
    """Weights `[row, column]` or `[head, row, column]`, the tokens they lie between, and the true links if known."""

    weights: np.ndarray  # plain here: its shape is checked below, with a message for people
    rows: tuple[Token, ...]
    columns: tuple[Token, ...]
    title: str = ""
    links: tuple[tuple[int, int], ...] = ()  # (row, column) pairs, outlined in pictures

    def __post_init__(self) -> None:
        try:
            weights = np.array(self.weights, dtype=np.float64)  # a copy: a frozen thing must not change from outside
            links = tuple((int(row), int(column)) for row, column in self.links)
        except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor that still wants its gradient
            raise RegardError(
                f"weights or links of a gaze: {error}", expected="an array and pairs of numbers"
            ) from None
        if not all(isinstance(token, Token) for token in (*self.rows, *self.columns)):
            raise RegardError("rows or columns that are not tokens", expected="regard.types.Token, one a row or column")
        wanted = (len(self.rows), len(self.columns))
        if weights.ndim not in (2, 3) or weights.shape[-2:] != wanted or 0 in weights.shape[:-2]:
            raise RegardError(
                f"weights of shape {list(weights.shape)}",
                expected=f"{list(wanted)} for {wanted[0]} output and {wanted[1]} input tokens, heads (if any) first",
            )
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise RegardError("weights below 0, infinite or not a number", expected="finite weights of at least 0")
        for row, column in links:
            if not (0 <= row < wanted[0] and 0 <= column < wanted[1]):
                raise RegardError(f"link ({row}, {column})", expected=f"a place inside {list(wanted)}")
        weights.setflags(write=False)
        for name, value in (("weights", weights), ("links", links)):
            object.__setattr__(self, name, value)
        for name in ("rows", "columns"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @property
    def heads(self) -> Float[np.ndarray, "head row column"]:
        """The weights with an axis of heads, be it of one."""
        return self.weights if self.weights.ndim == 3 else self.weights[None]

    @property
    def top(self) -> float:
        """The largest weight, at which every colour scale ends; 1 where there is nothing to see."""
        return float(self.weights.max(initial=0.0)) or 1.0

    def mean(self) -> "Gaze":
        """Heads averaged."""
        return self if self.weights.ndim == 2 else replace(self, weights=self.weights.mean(0))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Gaze):
            return NotImplemented
        mine, theirs = ((g.rows, g.columns, g.title, g.links) for g in (self, other))
        return mine == theirs and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash((self.rows, self.columns, self.title, self.links))

    def __str__(self) -> str:
        from regard.look.terminal import show

        return show(self, colour=False)

    def _repr_html_(self) -> str:
        from regard.look.page import fragment

        return fragment(self)

    def to_json(self) -> str:
        """All of it, exactly; characters that a terminal would obey or hide are written as escapes."""
        tokens = {
            side: [{"text": t.text, "start": t.start, "end": t.end} for t in getattr(self, side)]
            for side in ("rows", "columns")
        }
        table = {"title": self.title, **tokens, "links": self.links, "shape": self.weights.shape}
        text = json.dumps({**table, "weights": self.weights.tolist()}, ensure_ascii=False, allow_nan=False)
        return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)

    @staticmethod
    def from_json(text: str) -> "Gaze":
        """The gaze that `to_json` wrote."""

        def tokens(side: list[dict[str, Any]]) -> tuple[Token, ...]:
            made = tuple(Token(t["text"], t["start"], t["end"]) for t in side)
            if not all(isinstance(t.text, str) and type(t.start) is type(t.end) is int for t in made):
                raise TypeError("a token is a text with a start and an end")
            return made

        try:
            table = json.loads(text)
            weights = np.array(table["weights"], dtype=np.float64).reshape(table["shape"])
            rows, columns, title = tokens(table["rows"]), tokens(table["columns"]), table["title"]
            links = tuple((int(row), int(column)) for row, column in table["links"])
            if not isinstance(title, str):
                raise TypeError("a title is a text")
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise RegardError(f"cannot read a gaze from this JSON ({error})", expected="what to_json writes") from None
        return Gaze(weights, rows, columns, title, links)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as the suffix says: a picture, a page, JSON or plain text; whole or not at all."""
        path = Path(path)
        makers: dict[str, Callable[[], bytes]] = {
            ".png": self._picture("png"),
            ".svg": self._picture("svg"),
            ".html": self._page,
            ".json": lambda: (self.to_json() + "\n").encode(),
            ".txt": lambda: (str(self) + "\n").encode(),
        }
        suffix = path.suffix.lower()
        if suffix not in makers:
            raise RegardError(
                f"{str(path)!r}: cannot tell what to write", expected="a name ending in " + ", ".join(makers)
            )
        return write(path, makers[suffix]())

    def _picture(self, kind: str) -> Callable[[], bytes]:
        def make() -> bytes:
            from regard.look.heatmap import render

            return render(self, kind)

        return make

    def _page(self) -> bytes:
        from regard.look.page import page

        return page([self], self.title).encode()


def write(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all; where that cannot be done, say so in one line."""
    try:
        return write_whole(path, content)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise RegardError(
            f"cannot write {str(path)!r} ({reason})", do="choose a folder that is there and yours"
        ) from None


joiners = "\u200c\u200d"  # needed inside Persian and Indic words and inside emoji
signs = {"\n": "↵", "\t": "⇥", "\x7f": "␡"}
most_marks = 4  # more marks on one letter are written by nobody, and would run over the lines above


def visible(text: str) -> str:
    """A token so that a person sees every character and no screen obeys one.

    Control characters become their pictures (␛, ↵), what is invisible or turns the line around its number
    (⟨U+202E⟩), spaces at either end ␣, nothing at all ∅; a mark without a letter gets a dotted circle.
    """
    if not text:
        return "∅"
    shown: list[str] = []
    inner = range(len(text) - len(text.lstrip()), len(text.rstrip()))
    marks = 0
    for i, c in enumerate(text):
        category = unicodedata.category(c)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if c in signs:
            shown.append(signs[c])
        elif c < " ":
            shown.append(chr(0x2400 + ord(c)))
        elif category == "Zs":
            shown.append(" " if i in inner else "␣")
        elif c in joiners and 0 < i < len(text) - 1 and text[i - 1] not in joiners:
            shown.append(c)
        elif category[0] == "C" or category in ("Zl", "Zp"):
            shown.append(f"⟨U+{ord(c):04X}⟩")
        elif marks > most_marks:
            shown.append("…" if marks == most_marks + 1 else "")
        else:
            shown.append("◌" + c if i == 0 and category[0] == "M" else c)
    return "".join(shown)
