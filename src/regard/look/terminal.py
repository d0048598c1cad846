"""An attention map in the terminal: a heat map of blocks, in colour where the terminal has it.

Each column is as wide as its token, so words stand over their columns as one reads them, and single
characters make a dense picture. What does not fit the width goes on in a further panel below:
nothing is left out. Colours and blocks say the same, so a copy without colour still reads. Tokens that were not
chosen stand in brackets, and a bar where another input begins; a line below says so.

Weights over a picture stand where their boxes are in it, a block for each row, beside the picture in shades of grey.

    print(show(attention_map))
"""

import math
import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from io import StringIO

import numpy as np
from jaxtyping import Float, Int, UInt8
from rich.cells import cell_len, chop_cells
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.look.attention_map import AttentionMap, visible
from regard.look.picture import to_picture
from regard.look.sound import spectrogram, stretch
from regard.regions import Box, Interval

__all__ = ["show"]

shades = "·░▒▓█"
# Grey-blue to a strong blue, colours that nearly every terminal has. They only tint the shades above, whose share
# of ink makes little faint and much strong on dark and on light paper alike.
ramp = (67, 68, 69, 33)
longest = 14  # cells of a label; what is longer ends in …
sound_high = 5  # lines of a spectrogram
most_high = 16  # lines of a picture, unless its boxes need more
narrowest = 24  # columns below which no heat map can be laid out


def show(attention_map: AttentionMap, width: int | None = None, colour: bool | None = None) -> str:
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
    lines = _in_picture if attention_map.in_picture else _in_sound if attention_map.in_sound else _lines
    for line in lines(attention_map, width):
        line.rstrip()
        console.print(line, soft_wrap=True)  # Text, never markup: a token `[/b]` is a token
    return out.getvalue().rstrip("\n")


def _lines(attention_map: AttentionMap, width: int) -> Iterator[Text]:
    if attention_map.title:
        yield Text(_short(visible(attention_map.title), width), Style(bold=True))
    cells = min(longest, width // 3)
    rows, columns = (
        [_label(token.text, cells, out) for token, out in zip(tokens, left_out, strict=True)]
        for tokens, left_out in zip((attention_map.rows, attention_map.columns), attention_map.left_out, strict=True)
    )
    margin = max((cell_len(label.plain) for label in rows), default=0)
    wide = max((cell_len(label.plain) for label in columns), default=0)
    bar = "│ " if wide > 2 else "│"
    bars = [bar if i in attention_map.breaks else "" for i in range(len(columns))]
    # Single characters stand two cells apart, which makes squares; where only that makes them fit, one apart.
    least = margin + 1 + len(columns) + len(attention_map.breaks)
    dense = wide == 1 and least + len(columns) > width >= least
    sizes = [1 if dense else max(2, cell_len(label.plain) + (wide > 2)) for label in columns]
    for name, weights in zip(attention_map.names, attention_map.heads, strict=True):
        if attention_map.weights.ndim == 3:
            yield Text(_short(visible(name), width), Style(italic=True))
        for start, end in _panels([size + len(bar) for size, bar in zip(sizes, bars, strict=True)], width - margin - 1):
            if start:
                yield Text()
            shown = list(zip(columns, sizes, bars, strict=True))[start:end]
            header = Text(" " * (margin + 1))
            for label, size, bar in shown:
                header.append(bar).append_text(_fill(label, size))
            yield header
            for label, row in zip(rows, weights, strict=True):
                line = _fill(label, margin, right=True).append(" ")
                for weight, (_, size, bar) in zip(row[start:end], shown, strict=True):
                    line.append(bar).append_text(_cell(float(weight) / attention_map.top, size, gap=wide > 2))
                yield line
    yield _legend(attention_map.top)
    if any(map(any, attention_map.left_out)):
        yield Text().append("(word)", Style(dim=True)).append(" was not selected")
    if attention_map.breaks:
        yield Text("│ another input begins")


def _in_picture(attention_map: AttentionMap, width: int) -> Iterator[Text]:
    """The picture, and beside it the weights of each row where their boxes are; as many side by side as fit."""
    if attention_map.title:
        yield Text(_short(visible(attention_map.title), width), Style(bold=True))
    boxes = [one for one in attention_map.columns if isinstance(one, Box)]
    down = min(len({round(one.top + one.bottom, 6) for one in boxes}), 2 * most_high)
    across = min(len({round(one.left + one.right, 6) for one in boxes}), width // 2)
    lines = attention_map.lines()
    larger = max(1, min(most_high // down, ((width + 2) // (1 + len(lines)) - 2) // (2 * across)))  # all side by side
    down, across = down * larger, across * larger
    places = _places(boxes, down, across)
    shown = [(name, _weighed(line / attention_map.top, places)) for name, line in lines]
    panels = [("picture", _grey(attention_map.source, down, 2 * across)), *shown]
    beside = max(1, (width + 2) // (2 * across + 2))
    for first in range(0, len(panels), beside):
        some = panels[first : first + beside]
        names = [_fill(Text(_short(visible(name), 2 * across), Style(italic=True)), 2 * across) for name, _ in some]
        for line in [names, *zip(*(block for _, block in some), strict=True)]:
            yield Text("  ").join(line)
    yield _legend(attention_map.top)


def _in_sound(attention_map: AttentionMap, width: int) -> Iterator[Text]:
    """The spectrogram, and under it for each row its weights over time, with the stretch that it is heard in."""
    if attention_map.title:
        yield Text(_short(visible(attention_map.title), width), Style(bold=True))
    times = [one for one in attention_map.columns if isinstance(one, Interval)]
    labels = [Text(_short(visible(token.text), width // 4)) for token in attention_map.rows]
    margin, beside = max((cell_len(label.plain) for label in labels), default=0) + 1, 16
    room = max(8, min(width - margin - beside, 2 * len(times)))
    middle = (np.arange(room) + 0.5) / room * (times[-1].end - times[0].start) + times[0].start
    under = np.clip(np.searchsorted([one.end for one in times], middle), 0, len(times) - 1)
    levels = np.array(_resized(spectrogram(attention_map.source), sound_high, room)) // 52
    for line in levels:
        yield Text(" " * margin + "".join((" " + shades[1:])[level] for level in line), Style(dim=True))
    for name, weights in zip(attention_map.names, attention_map.heads, strict=True):
        if attention_map.weights.ndim == 3:
            yield Text(_short(visible(name), width), Style(italic=True))
        for label, row in zip(labels, weights, strict=True):
            cells = (_cell(float(weight) / attention_map.top, 1, gap=False) for weight in row[under])
            heard = stretch(row, times)
            said = f"  {heard.start:.2f}–{heard.end:.2f} s" if heard else ""
            yield _fill(label, margin - 1, right=True).append(" ").append_text(Text().join(cells)).append(said)
    first, last = f"{times[0].start:.2f} s", f"{times[-1].end:.2f} s"
    yield Text(" " * margin + first + last.rjust(room - len(first)), Style(dim=True))
    yield _legend(attention_map.top)


def _resized(levels: UInt8[np.ndarray, "band frame"], high: int, wide: int) -> UInt8[np.ndarray, "high wide"]:
    from PIL import Image

    small = Image.fromarray(levels).resize((wide, high), Image.Resampling.BOX)
    return np.asarray(small)


def _places(boxes: Sequence[Box], down: int, across: int) -> Int[np.ndarray, "down across"]:
    """Which box each block stands for: of those around its middle the one with the nearest middle; −1 for none."""
    y, x = (np.arange(down) + 0.5)[:, None, None] / down, (np.arange(across) + 0.5)[None, :, None] / across
    left, top, right, bottom = np.array([(one.left, one.top, one.right, one.bottom) for one in boxes]).T
    far = np.hypot(x - (left + right) / 2, y - (top + bottom) / 2)
    far[(x < left) | (x > right) | (y < top) | (y > bottom)] = np.inf
    return np.where(np.isfinite(far.min(-1)), far.argmin(-1), -1)


def _weighed(shares: Float[np.ndarray, " box"], places: Int[np.ndarray, "down across"]) -> list[Text]:
    cells = [_cell(float(share), 2, gap=False) for share in shares] + [Text("  ")]
    return [Text().join(cells[place] for place in line) for line in places]


def _grey(source: str, down: int, across: int) -> list[Text]:
    """The picture in shades, the brighter the more ink."""
    from PIL.Image import Resampling

    levels = np.asarray(to_picture(source).convert("L").resize((across, down), Resampling.BOX)) // 52
    return [Text("".join((" " + shades[1:])[level] for level in line)) for line in levels]


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


def _label(text: str, cells: int, left_out: bool) -> Text:
    """A token, at most so many cells wide; one that was not selected is dim, in brackets."""
    if left_out:
        return Text(f"({_short(visible(text), cells - 2)})", Style(dim=True))
    return Text(_short(visible(text), cells))


def _short(label: str, cells: int) -> str:
    """At most so many cells, ending in … where something was cut; never through a wide or a composed character."""
    if len(label) > 20 * cells:
        label = label[: 20 * cells] + "…"
    return label if cell_len(label) <= cells else chop_cells(label, cells - 1)[0] + "…"


def _fill(label: Text, cells: int, right: bool = False) -> Text:
    """Padded to so many cells. A right-to-left label is closed with a mark, lest it drag its neighbours along."""
    space = " " * (cells - cell_len(label.plain))
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in label.plain):
        label = Text(f"\u200e{label.plain}\u200e", label.style)
    return Text().append(space * right).append_text(label).append(space * (not right))
