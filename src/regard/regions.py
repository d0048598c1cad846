"""Regions: what an attention weight refers to, on either axis of an attention map.

- `Token`: characters of a text
- `Box`: a rectangle of a picture
- `Interval`: a stretch of a recording
- `Item`: one element of a list of ids
- `Entry`: one field of a record

Every region has `text`, its name in words, and `kind`, by which a renderer chooses its view. A field (`regard.fields`)
gives the regions of a value; an encoder that shortens its input says how many of them each of its positions covers,
and `joined` makes one region of these.

    joined((Token("New", 0, 3), Token("York", 4, 8)), [(0, 2)])     # (Token("New York", 0, 8),)
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, get_type_hints

__all__ = ["KINDS", "Box", "Entry", "Interval", "Item", "Region", "Token", "from_dict", "joined", "to_dict"]


@dataclass(frozen=True)
class Token:
    """Characters `start` to `end` (excluded) of a text; −1 where the place is not known."""

    kind: ClassVar[str] = "token"
    text: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True)
class Box:
    """A rectangle of a picture. Edges are fractions of its width and height, from the top left corner."""

    kind: ClassVar[str] = "box"
    left: float
    top: float
    right: float
    bottom: float

    @property
    def text(self) -> str:
        return f"{self.left:.0%}–{self.right:.0%} × {self.top:.0%}–{self.bottom:.0%}"


@dataclass(frozen=True)
class Interval:
    """Seconds `start` to `end` of a recording."""

    kind: ClassVar[str] = "interval"
    start: float
    end: float

    @property
    def text(self) -> str:
        return f"{self.start:.2f}–{self.end:.2f} s"


@dataclass(frozen=True)
class Item:
    """Element number `index` (from 0) of a list of ids."""

    kind: ClassVar[str] = "item"
    text: str
    index: int = -1


@dataclass(frozen=True)
class Entry:
    """The field `name` of a record, with its value."""

    kind: ClassVar[str] = "entry"
    name: str
    value: str

    @property
    def text(self) -> str:
        return f"{self.name}: {self.value}"


Region = Token | Box | Interval | Item | Entry
KINDS: dict[str, type[Region]] = {one.kind: one for one in (Token, Box, Interval, Item, Entry)}


def to_dict(region: Region) -> dict[str, Any]:
    """As JSON holds it, with its kind."""
    return {"kind": region.kind, "text": region.text, **asdict(region)}


def from_dict(table: dict[str, Any]) -> Region:
    """The region that `to_dict` wrote; TypeError, ValueError or KeyError where it is none."""
    kind = KINDS[table.get("kind", Token.kind)]
    given = {one.name: table[one.name] for one in fields(kind)}
    for name, value in given.items():
        wanted = get_type_hints(kind)[name]
        if type(value) is not wanted and not (wanted is float and type(value) is int):
            raise TypeError(f"{name} of a {kind.kind} is {type(value).__name__}, not {wanted.__name__}")
    return kind(**given)


def joined(regions: Sequence[Region], spans: Sequence[tuple[int, int]]) -> tuple[Region, ...]:
    """For each span `(first, last)` (last excluded) of positions the region that covers them all."""
    return tuple(_join(regions[first:last]) for first, last in spans)


def _join(some: Sequence[Region]) -> Region:
    first, last = some[0], some[-1]
    if len(some) == 1:
        return first
    boxes = [one for one in some if isinstance(one, Box)]
    if len(boxes) == len(some):
        return Box(
            min(one.left for one in boxes),
            min(one.top for one in boxes),
            max(one.right for one in boxes),
            max(one.bottom for one in boxes),
        )
    if isinstance(first, Interval) and isinstance(last, Interval):
        return Interval(first.start, last.end)
    text = " ".join(one.text for one in some)
    if isinstance(first, Token) and isinstance(last, Token):
        return Token(text, first.start, last.end)
    return Item(text, first.index if isinstance(first, Item) else -1)
