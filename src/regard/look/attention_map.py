"""Attention weights, ready to be shown: rows attend to columns, and both are regions of a text, a picture, a list.

An `AttentionMap` knows nothing of models. `print` it for a heat map in the terminal, end a notebook cell with it for
an interactive figure, or save it as a picture, a page, JSON or plain text:

    AttentionMap(weights, rows, columns, title="Dienstag, 5. März 2024").save("date.png")

Columns that are all boxes are shown on their picture, which `source` holds as a data URL. All other regions are shown
as labels. Tokens that a hard attention left out stand in brackets: (the). Where several inputs stand side by side, a
line marks where each begins.

Labels are other people's text. JSON keeps them exactly; everything else shows them through `visible`.
"""

import json
import os
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from regard.errors import RegardError, brief, counted
from regard.files import write_whole
from regard.look.picture import is_picture
from regard.look.sound import is_sound
from regard.regions import Box, Interval, Region, from_dict, to_dict

__all__ = ["AttentionMap", "Panels", "visible", "write"]

Panels = Literal["heads", "features", "layers", "rows"]
"""What the panels of a map are: its heads; a mean and single features; the heads of all layers; its rows, of which each
belongs to a learned query."""

_marks: dict[str, type] = {
    "head_names": str,
    "row_selected": bool,
    "column_selected": bool,
    "breaks": int,
}  # lists, in JSON


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """Weights `[row, column]` or `[head, row, column]`, the regions they connect, and what is known of these."""

    weights: np.ndarray  # plain here: its shape is checked below, with a message for people
    rows: tuple[Region, ...]
    columns: tuple[Region, ...]
    title: str = ""
    links: tuple[tuple[int, int], ...] = ()  # (row, column) pairs, outlined in pictures
    head_names: tuple[str, ...] = ()  # names of the heads, one each; empty where they have only numbers
    row_selected: tuple[bool, ...] = ()  # which tokens a hard attention chose, one each; empty where none chooses
    column_selected: tuple[bool, ...] = ()
    breaks: tuple[int, ...] = ()  # columns before which another input begins
    source: str = ""  # the picture that boxes are in, as a data URL
    panels: Panels = "heads"  # of "features" the first is the mean of all
    axes: tuple[str, str] = ("", "")  # what rows and columns are: "target", "source"

    def __post_init__(self) -> None:
        try:
            weights = np.array(self.weights, dtype=np.float64)  # a copy: a frozen thing must not change from outside
            links = tuple((int(row), int(column)) for row, column in self.links)
        except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor that still wants its gradient
            raise RegardError(
                f"weights or links of an attention map: {error}", expected="an array and pairs of numbers"
            ) from None
        if not all(issubclass(kind, Region) for kind in {*map(type, self.rows), *map(type, self.columns)}):
            raise RegardError("rows or columns that are not regions", expected="regions, such as regard.regions.Token")
        wanted = (len(self.rows), len(self.columns))
        if weights.ndim not in (2, 3) or weights.shape[-2:] != wanted or 0 in weights.shape[:-2]:
            raise RegardError(
                f"weights of shape {list(weights.shape)}",
                expected=f"{list(wanted)} for {wanted[0]} rows and {wanted[1]} columns, heads (if any) first",
            )
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise RegardError("weights below 0, infinite or not a number", expected="finite weights of at least 0")
        for row, column in links:
            if not (0 <= row < wanted[0] and 0 <= column < wanted[1]):
                raise RegardError(f"link ({row}, {column})", expected=f"a place inside {list(wanted)}")
        self._check_marks(weights.shape[0] if weights.ndim == 3 else 0)
        weights.setflags(write=False)
        for name, value in (("weights", weights), ("links", links)):
            object.__setattr__(self, name, value)
        for name in ("rows", "columns", "head_names", "row_selected", "column_selected", "breaks", "axes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @classmethod
    def known(
        cls,
        weights: np.ndarray,
        rows: tuple[Region, ...],
        columns: tuple[Region, ...],
        title: str = "",
        head_names: tuple[str, ...] = (),
        panels: Panels = "heads",
        axes: tuple[str, str] = ("", ""),
    ) -> "AttentionMap":
        """As the constructor makes it, without its checks: for thousands that were checked together."""
        weights = weights.astype(np.float64)
        weights.setflags(write=False)
        one = object.__new__(cls)
        own = vars(one)  # written one by one: half the cost of an update
        own["weights"], own["rows"], own["columns"], own["title"] = weights, rows, columns, title
        own["head_names"], own["panels"], own["axes"], own["source"] = head_names, panels, axes, ""
        own["links"] = own["row_selected"] = own["column_selected"] = own["breaks"] = ()
        return one

    def _check_marks(self, heads: int) -> None:
        """Names, choices and breaks belong to what is there."""
        if self.head_names and not (
            len(self.head_names) == heads and all(isinstance(name, str) for name in self.head_names)
        ):
            raise RegardError(f"head_names {self.head_names!r}", expected=f"one name for each of {heads} heads")
        if self.panels not in get_args(Panels):
            raise RegardError(f"panels {self.panels!r:.40}", expected=f"one of {', '.join(get_args(Panels))}")
        if not is_picture(self.source) and not is_sound(self.source) and (self.source or self.in_picture):
            given = f"source {self.source!r:.40}" if self.source else "boxes, but no picture as source"
            raise RegardError(given, expected="a PNG, JPEG, GIF, WebP or BMP as a data URL: data:image/png;base64,…")
        if self.in_picture and is_sound(self.source):
            raise RegardError("boxes, but a sound as source", expected="the picture that they are parts of")
        for side, chosen, tokens in (
            ("row", self.row_selected, self.rows),
            ("column", self.column_selected, self.columns),
        ):
            if chosen and not (len(chosen) == len(tokens) and all(isinstance(one, bool) for one in chosen)):
                raise RegardError(
                    f"{side}_selected of length {len(chosen)}",
                    expected=f"True or False for each of {len(tokens)} tokens",
                )
        edges = (0, *self.breaks, len(self.columns))
        if self.breaks and not all(type(b) is int and a < b for a, b in pairwise(edges)):
            raise RegardError(f"breaks {self.breaks!r}", expected=f"rising numbers between 0 and {len(self.columns)}")

    @property
    def heads(self) -> Float[np.ndarray, "head row column"]:
        """The weights with an axis of heads, even if there is one head."""
        return self.weights if self.weights.ndim == 3 else self.weights[None]

    @property
    def names(self) -> tuple[str, ...]:
        """What the heads are called."""
        return self.head_names or tuple(f"head {number}" for number in range(1, len(self.heads) + 1))

    @property
    def left_out(self) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
        """Of rows and of columns, which were not selected; none where nothing selects."""
        rows = tuple(not one for one in self.row_selected) or (False,) * len(self.rows)
        return rows, tuple(not one for one in self.column_selected) or (False,) * len(self.columns)

    @property
    def in_picture(self) -> bool:
        """Whether the columns are all parts of a picture, and shown there."""
        return bool(self.columns) and {*map(type, self.columns)} == {Box}

    @property
    def in_sound(self) -> bool:
        """Whether the columns are all stretches of a recording, and shown there."""
        return bool(self.columns) and {*map(type, self.columns)} == {Interval} and is_sound(self.source)

    def lines(self) -> list[tuple[str, Float[np.ndarray, " column"]]]:
        """Each row of each head, with a name: for views that show one row at a time."""
        heads, rows = zip(self.names, self.heads, strict=True), [one.text for one in self.rows]
        if len(self.heads) == 1 and not self.head_names:
            return list(zip(rows, self.heads[0], strict=True))
        return [
            (name if len(rows) == 1 else f"{name}: {row}", line)
            for name, head in heads
            for row, line in zip(rows, head, strict=True)
        ]

    @property
    def largest(self) -> float:
        """The largest weight."""
        return float(self.weights.max(initial=0.0))

    @property
    def top(self) -> float:
        """Where every colour scale ends: at the largest weight, but not below twice an even share of a row, so that a
        row without a peak has no dark cell; 1 where there is nothing to see."""
        columns = self.weights.shape[-1]
        even = float(self.weights.sum(-1).max(initial=0.0)) / max(1, columns)
        return max(self.largest, min(2, columns) * even) or 1.0

    def mean(self) -> "AttentionMap":
        """The mean of the heads; of features the first panel, which is the mean of all."""
        if self.weights.ndim == 2:
            return self
        whole = self.weights[0] if self.panels == "features" else self.weights.mean(0)
        return replace(self, weights=whole, head_names=(), panels="heads")

    def _rest(self) -> tuple[Any, ...]:
        """All but the weights."""
        return tuple(getattr(self, field.name) for field in fields(self) if field.name != "weights")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AttentionMap):
            return NotImplemented
        return self._rest() == other._rest() and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash(self._rest())

    def __repr__(self) -> str:
        heads = f"{len(self.weights)} {self.panels}, " if self.weights.ndim == 3 else ""
        title = f" of {brief(self.title)}" if self.title else ""
        rows, columns = counted(len(self.rows), "row"), counted(len(self.columns), "column")
        return f"<attention map{title}, {heads}{rows} × {columns}>"

    def __str__(self) -> str:
        from regard.look.terminal import show

        return show(self, colour=False)

    def _repr_html_(self) -> str:
        from regard.look.page import fragment

        return fragment(self)

    def to_json(self) -> str:
        """All of it, exactly; characters that a terminal would obey or hide are written as escapes."""
        axes = {"rows": [*map(to_dict, self.rows)], "columns": [*map(to_dict, self.columns)]}
        marks = {name: getattr(self, name) for name in ("links", *_marks, "source", "panels", "axes")}
        table = {"title": self.title, **axes, **marks, "shape": self.weights.shape}
        text = json.dumps({**table, "weights": self.weights.tolist()}, ensure_ascii=False, allow_nan=False)
        return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)

    @staticmethod
    def from_json(text: str) -> "AttentionMap":
        """The attention map that `to_json` wrote."""
        try:
            table = json.loads(text)
            weights = np.array(table["weights"], dtype=np.float64).reshape(table["shape"])
            rows, columns = (tuple(map(from_dict, table[side])) for side in ("rows", "columns"))
            title, source, panels = table["title"], table["source"], table["panels"]
            links = tuple((int(row), int(column)) for row, column in table["links"])
            if not (isinstance(title, str) and isinstance(source, str)) or panels not in get_args(Panels):
                raise TypeError("title and source are texts, and panels one of its choices")
            marks = {name: tuple(table[name]) for name in _marks}
            down, across = table.get("axes", ("", ""))
            if not (isinstance(down, str) and isinstance(across, str)):
                raise TypeError("axes are two texts")
            for name, kind in _marks.items():
                if not isinstance(table[name], list) or not all(type(one) is kind for one in marks[name]):
                    raise TypeError(f"{name} is a list of {kind.__name__}")
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise RegardError(
                f"cannot read an attention map from this JSON ({error})", expected="what to_json writes"
            ) from None
        return AttentionMap(
            weights, rows, columns, title, links, **marks, source=source, panels=panels, axes=(down, across)
        )

    def save(self, path: str | os.PathLike[str], caption: str = "", smooth: bool = False) -> Path:
        """Write it as the suffix says: a picture, an animation, a page, JSON or plain text; whole or not at all. A
        picture has the caption above it, where it is more than the title; over a photograph weights may be smooth."""
        path = Path(path)
        makers: dict[str, Callable[[], bytes]] = {
            ".png": self._picture("png", caption, smooth),
            ".svg": self._picture("svg", caption, smooth),
            ".gif": lambda: self._animation(smooth),
            ".html": self._page,
            ".json": lambda: (self.to_json() + "\n").encode(),
            ".txt": lambda: (str(self) + "\n").encode(),
        }
        suffix = path.suffix.lower()
        if suffix not in makers:
            raise RegardError(f"{str(path)!r}: unknown file type", expected="a name ending in " + ", ".join(makers))
        return write(path, makers[suffix]())

    def _animation(self, smooth: bool) -> bytes:
        from regard.look.animation import animation

        return animation(self, smooth)

    def _picture(self, kind: str, caption: str, smooth: bool) -> Callable[[], bytes]:
        def make() -> bytes:
            from regard.look.heatmap import render

            return render(self, kind, caption, smooth)

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
            f"cannot write {str(path)!r} ({reason})", do="use an existing folder that you can write to"
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
