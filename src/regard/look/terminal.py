"""A gaze in the terminal: a heat map of blocks, in colour where the terminal has it.

Each column is as wide as its token, so words stand over their columns as one reads them, and single
characters make a dense picture. What does not fit the width goes on in a further panel below:
nothing is left out. Colours and blocks say the same, so a copy without colour still reads.

    print(show(gaze))
"""

import math
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from io import StringIO

from rich.cells import cell_len, chop_cells
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.look.gaze import Gaze, visible

__all__ = ["show"]

shades = "·░▒▓█"
# Grey-blue to a strong blue, colours that nearly every terminal has. They only tint the shades above, whose share
# of ink makes little faint and much strong on dark and on light paper alike.
ramp = (67, 68, 69, 33)
longest = 14  # cells of a label; what is longer ends in …
narrowest = 24  # columns below which no heat map can be laid out


def show(gaze: Gaze, width: int | None = None, colour: bool | None = None) -> str:
    """The heat map as text, at most `width` columns wide; head after head where there are several."""
    if width is None:
        width = shutil.get_terminal_size((80, 24)).columns
    if colour is None:
        colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = max(width, narrowest)
    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="256" if colour else None, legacy_windows=False
    )
    for line in _lines(gaze, width):
        line.rstrip()
        console.print(line, soft_wrap=True)  # Text, never markup: a token `[/b]` is a token
    return out.getvalue().rstrip("\n")


def _lines(gaze: Gaze, width: int) -> Iterator[Text]:
    if gaze.title:
        yield Text(_short(visible(gaze.title), width), Style(bold=True))
    cells = min(longest, width // 3)
    rows = [_short(visible(token.text), cells) for token in gaze.rows]
    columns = [_short(visible(token.text), cells) for token in gaze.columns]
    margin = max(map(cell_len, rows), default=0)
    wide = max(map(cell_len, columns), default=0)
    # Single characters stand two cells apart, which makes squares; where only that makes them fit, one apart.
    dense = wide == 1 and margin + 1 + 2 * len(columns) > width >= margin + 1 + len(columns)
    sizes = [1 if dense else max(2, cell_len(label) + (wide > 2)) for label in columns]
    for head, weights in enumerate(gaze.heads, 1):
        if gaze.weights.ndim == 3:
            yield Text(f"head {head}", Style(italic=True))
        for start, end in _panels(sizes, width - margin - 1):
            if start:
                yield Text()
            header = Text(" " * (margin + 1))
            for label, size in zip(columns[start:end], sizes[start:end], strict=True):
                header.append(_fill(label, size))
            yield header
            for label, row in zip(rows, weights, strict=True):
                line = Text(_fill(label, margin, right=True) + " ")
                for weight, size in zip(row[start:end], sizes[start:end], strict=True):
                    line.append_text(_cell(float(weight) / gaze.top, size, gap=wide > 2))
                yield line
    yield _legend(gaze.top)


def _panels(sizes: Sequence[int], room: int) -> list[tuple[int, int]]:
    """Runs of columns that fit side by side, as few as possible and then as even as possible."""
    fewest = len(list(_runs(sizes, room)))
    # The narrowest room that needs no more runs: no single column is left alone at the end.
    return next(runs for r in range(room + 1) if len(runs := list(_runs(sizes, r))) == fewest or r == room)


def _runs(sizes: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Runs filled one after the other; at least one column a run, and one run even of none."""
    start = used = 0
    for i, size in enumerate(sizes):
        if i > start and used + size > room:
            yield start, i
            start, used = i, 0
        used += size
    yield start, len(sizes)


def _cell(share: float, size: int, gap: bool) -> Text:
    """A block for a share (0 to 1) of the largest weight; a dot where there is next to nothing."""
    level = math.ceil(share * (len(shades) - 1) - 0.2) if share < 1 else len(shades) - 1
    if level <= 0:
        return Text(shades[0] + " " * (size - 1), Style(dim=True))
    tint = Color.from_ansi(ramp[min(int(share * len(ramp)), len(ramp) - 1)])
    return Text().append(shades[level] * (size - gap), Style(color=tint)).append(" " * gap)


def _legend(top: float) -> Text:
    line = Text("0 ")
    for step in range(len(shades)):
        line.append_text(_cell(step / (len(shades) - 1), 2, gap=False))
    return line.append(f" {top:.2g}")


def _short(label: str, cells: int) -> str:
    """At most so many cells, ending in … where something was cut; never through a wide or a composed character."""
    if len(label) > 20 * cells:
        label = label[: 20 * cells] + "…"
    return label if cell_len(label) <= cells else chop_cells(label, cells - 1)[0] + "…"


def _fill(label: str, cells: int, right: bool = False) -> str:
    """Padded to so many cells. A right-to-left label is closed with a mark, lest it drag its neighbours along."""
    space = " " * (cells - cell_len(label))
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in label):
        label = f"\u200e{label}\u200e"
    return space + label if right else label + space
