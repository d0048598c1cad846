"""An attention map as a picture for slides and papers: PNG, or SVG whose text stays text.

Input tokens stand above, output tokens to the left, both under their names; the darker a cell, the higher its weight.
Colours go from 0 to the largest weight, but at least to twice an even share, so that an even row looks even. Known
true links are outlined, heads stand side by side as small multiples. Tokens that were not selected are grey and in
brackets, and a strong line stands where another input begins. Weights over a picture are drawn on it, a panel for each
row, as blocks or, where the boxes are a grid, smoothly.

    save(attention_map, "date.svg")

Text is drawn letter by letter as it is: `$` opens no formula, and what no installed font can draw is
written as its number, ⟨U+1F600⟩, in a PNG. An SVG keeps every character, for the fonts of its viewer.
Matplotlib from 3.11 on joins and turns Arabic and Hebrew (libraqm); before that a PNG shows their letters
unjoined and from left to right, which still reads where tokens are single letters. SVG is shaped by its viewer.
"""

import logging
import math
import os
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import PatchCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from rich.cells import cell_len

from regard.errors import RegardError
from regard.look.attention_map import AttentionMap, visible, write
from regard.look.picture import to_picture
from regard.look.sound import spectrogram, stretch
from regard.regions import Box, Interval

__all__ = ["contained", "draw", "drawable", "overlaid", "render", "save"]

ink, faint, accent = "#1f2933", "#dfe4ea", "#d55e00"  # the orange stands apart from blue for the colour-blind too
grey = "#76818d"  # of what was not selected; dark enough to be read
colours = "Blues"  # even steps of one hue, white for nothing
first_font = "DejaVu Sans"  # comes with matplotlib, so it is always there
longest = 20  # characters of a label
one_cell, all_cells = 0.36, 11.0  # inches: a cell where there is room, and all cells of a side together at most
least_pitch = 0.11  # inches between two labels that can still be read
most_panels = 64  # of a picture
# Over a picture: from nothing to an orange that lets it through, and is seen on black and on white.
over = LinearSegmentedColormap.from_list("over", [(1.0, 0.5, 0.05, 0.0), (1.0, 0.5, 0.05, 0.8)])

most_pixels = 10_000  # a side

# `svg.fonttype` can be set nowhere but in matplotlib's global settings, so one picture is drawn at a time.
_drawing = threading.Lock()


def save(attention_map: AttentionMap, path: str | os.PathLike[str], caption: str = "", smooth: bool = False) -> Path:
    """Write a PNG or an SVG, as the suffix says; whole or not at all."""
    path = Path(path)
    return write(path, render(attention_map, path.suffix.lower().removeprefix("."), caption, smooth))


def render(attention_map: AttentionMap, kind: str, caption: str = "", smooth: bool = False) -> bytes:
    """The bytes of a "png" or "svg" file. The lines of the caption stand above the title, for example what was asked
    and what was answered."""
    if kind not in ("png", "svg"):
        raise RegardError(f"a picture of kind {kind!r}", expected="png or svg")
    out = BytesIO()
    with contained():
        figure = draw(attention_map, escape=kind == "png", caption=caption, smooth=smooth)
        canvas: Any = FigureCanvasAgg(figure) if kind == "png" else FigureCanvasSVG(figure)
        if kind == "png":
            canvas.print_png(out)
        else:
            canvas.print_svg(out, metadata={"Date": None})
    return out.getvalue()


@contextmanager
def contained() -> Iterator[None]:
    """Matplotlib set to write text as text and the same file for the same attention map; left afterwards as it was."""
    # Text of an SVG belongs to its viewer's fonts: that one is missing here, or has an unusual weight, is no matter.
    log = logging.getLogger("matplotlib.font_manager")
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "regard"}
    with _drawing, matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        log.addFilter(_no_weights)
        try:
            yield
        finally:
            log.removeFilter(_no_weights)


def _no_weights(record: logging.LogRecord) -> bool:
    return "Failed to find font weight" not in record.msg


def draw(attention_map: AttentionMap, escape: bool = True, caption: str = "", smooth: bool = False) -> Figure:
    """The picture as a matplotlib figure of its own (no pyplot). `escape` writes undrawable letters as numbers."""
    if attention_map.in_picture:
        return _on_picture(attention_map, escape, caption, smooth)
    if attention_map.in_sound:
        return _on_sound(attention_map, escape, caption)
    rows, columns, names, axis_names, title, fonts = _texts(attention_map, escape, caption)
    heads = attention_map.heads
    across = min(len(heads), 4)
    longer = max(len(rows), len(columns), 1)
    cell = min(one_cell, all_cells / math.sqrt(across) / longer)
    wide, high = max(len(columns), 1) * cell, max(len(rows), 1) * cell
    style: dict[str, Any] = {"family": fonts, "color": ink, "parse_math": False, "usetex": False}
    small = {**style, "size": min(12.0, 40 * max(cell, least_pitch))}

    figure = Figure(figsize=(wide, high), dpi=200, facecolor="white")
    canvas: Any = FigureCanvasAgg(figure)
    panels = []
    for number, weights in enumerate(heads):
        axes = figure.add_axes((0, 0, 1, 1), label=f"head {number + 1}")
        _heat(axes, weights, attention_map, cell)
        _labels(axes, rows, columns, cell, small)
        _grey(axes, attention_map)
        if len(heads) > 1 or attention_map.head_names:
            axes.set_title(names[number], loc="left", size=10, **style)
        if number < across:
            axes.set_xlabel(axis_names[1], size=9, **{**style, "color": grey})
        if number % across == 0:
            axes.set_ylabel(axis_names[0], size=9, **{**style, "color": grey})
        panels.append(axes)
    # What the labels really take, in inches, decides how large the figure is and where its panels stand.
    box = figure.get_tightbbox(canvas.get_renderer())
    left, right, above = -box.x0 + 0.15, max(box.x1 - wide, 0) + 0.15, max(box.y1 - high, 0) + 0.15
    top = _high(title)
    down = math.ceil(len(heads) / across)
    heading = figure.text(0, 0, title, size=13, va="top", **style)
    note = figure.text(
        0, 0, "(word) was not selected" * any(map(any, attention_map.left_out)), size=8, **{**style, "color": grey}
    )
    texts_wide = max(text.get_window_extent(canvas.get_renderer()).width for text in (heading, note)) / figure.dpi
    width = max(across * (left + wide + right) + 0.55, texts_wide + 0.4)
    height = top + down * (above + high + 0.1) + (0.3 if note.get_text() else 0.1)
    figure.set_size_inches(width, height)
    figure.set_dpi(min(figure.dpi, most_pixels / max(width, height)))
    heading.set_position((0.18 / width, 1 - 0.15 / height))
    note.set_position((0.18 / width, 0.1 / height))
    for i, axes in enumerate(panels):
        x = i % across * (left + wide + right) + left
        y = height - top - i // across * (above + high + 0.1) - above - high
        axes.set_position((x / width, y / height, wide / width, high / height))
    x, long = across * (left + wide + right), min(high, 1.5)
    scale = figure.add_axes((x / width, (height - top - above - long) / height, 0.08 / width, long / height))
    _scale(scale, attention_map, style)
    return figure


def _high(title: str) -> float:
    """Inches that the lines above the panels take."""
    return 0.16 + 0.24 * (title.count("\n") + 1) if title else 0.0


def _on_picture(attention_map: AttentionMap, escape: bool, caption: str, smooth: bool) -> Figure:
    """The picture once for each row of weights, each box as dark as its weight; of very many rows the first."""
    if len(attention_map.heads) * len(attention_map.rows) > most_panels:
        attention_map = attention_map.mean()
    lines = attention_map.lines()
    title = attention_map.title
    if len(lines) > most_panels:
        title, lines = f"{title} ({most_panels} of {len(lines)} rows)".strip(), lines[:most_panels]
    headings, texts = _headings(caption, title), [_short(visible(name), 2 * longest) for name, _ in lines]
    drawn, fonts = _drawable([*headings, *texts], escape)
    title, texts = "\n".join(drawn[: len(headings)]), drawn[len(headings) :]
    style: dict[str, Any] = {"family": fonts, "color": ink, "parse_math": False, "usetex": False}

    picture = to_picture(attention_map.source)
    across = min(len(lines), 4 if len(lines) <= 16 else 8)
    down, side = math.ceil(len(lines) / across), (3.6 if len(lines) == 1 else 2.4 if across <= 4 else 1.4)
    wide, high = (side * one / max(picture.size) for one in picture.size)
    top, gap, above = (_high(title) or 0.15), 0.2, 0.28
    width = max(across * (wide + gap) + 0.75, max(map(len, title.split("\n"))) * 0.12)
    height = top + down * (high + above + 0.1) + 0.1
    figure = Figure(figsize=(width, height), dpi=200, facecolor="white")
    figure.text(0.18 / width, 1 - 0.15 / height, title, size=13, va="top", **style)
    for number, (_, weights) in enumerate(lines):
        x = 0.18 + number % across * (wide + gap)
        y = height - top - number // across * (high + above + 0.1) - above - high
        axes = figure.add_axes((x / width, y / height, wide / width, high / height), label=f"panel {number + 1}")
        axes.set_title(texts[number], loc="left", size=10 if side > 2 else 7, pad=3, **style)
        overlaid(axes, picture, attention_map, weights, number % len(attention_map.rows), smooth)
    x, long = 0.18 + across * (wide + gap), min(high, 1.5)
    scale = figure.add_axes((x / width, (height - top - above - long) / height, 0.08 / width, long / height))
    _scale(scale, attention_map, style, over)
    return figure


def _on_sound(attention_map: AttentionMap, escape: bool, caption: str) -> Figure:
    """The spectrogram, and under it on the same axis of time a row for each token; head after head."""
    heads = attention_map.heads if len(attention_map.heads) * len(attention_map.rows) <= 4 * most_panels else None
    attention_map = attention_map if heads is not None else attention_map.mean()
    rows, _, names, _, title, fonts = _texts(attention_map, escape, caption)
    style: dict[str, Any] = {"family": fonts, "color": ink, "parse_math": False, "usetex": False}
    edges = [(one.start, one.end) for one in attention_map.columns if isinstance(one, Interval)]
    seconds = edges[-1][1] - edges[0][0]
    wide, tall, line = min(14.0, max(5.0, 1.6 * seconds)), 1.2, min(0.22, 12 / max(len(rows), 1))
    left, right, gap, top = 0.25 + 0.09 * max(map(len, rows), default=1), 1.4, 0.12, _high(title) or 0.15
    each = line * len(rows) + (0.28 if len(attention_map.heads) > 1 else gap)
    width, height = left + wide + right, top + tall + each * len(attention_map.heads) + 0.55
    dpi = min(200, most_pixels / max(width, height))
    figure = Figure(figsize=(width, height), dpi=dpi, facecolor="white")
    figure.text(0.18 / width, 1 - 0.15 / height, title, size=13, va="top", **style)
    extent = (edges[0][0], edges[-1][1])

    def axes_at(above: float, high: float, label: str) -> Axes:
        place = (left / width, (height - above - high) / height, wide / width, high / height)
        axes = figure.add_axes(place, label=label)
        for spine in axes.spines.values():
            spine.set(color=faint, linewidth=0.8)
        return axes

    axes = axes_at(top, tall, "spectrogram")
    axes.imshow(spectrogram(attention_map.source), extent=(*extent, 0, 1), cmap="Greys", aspect="auto")
    axes.set(xticks=[], yticks=[], xlim=extent)
    times = np.array([first for first, _ in edges] + [edges[-1][1]])
    for number, weights in enumerate(attention_map.heads):
        above = top + tall + each * (number + 1) - line * len(rows)
        axes = axes_at(above, line * len(rows), f"head {number + 1}")
        if weights.size:
            axes.pcolormesh(
                times, np.arange(len(rows) + 1), weights, cmap=colours, vmin=0, vmax=attention_map.top, rasterized=True
            )
        axes.set(xlim=extent, ylim=(len(rows), 0))
        axes.set_yticks(np.arange(len(rows)) + 0.5, rows, size=min(11, 50 * line), **style)
        axes.tick_params(length=0, pad=3)
        for at, row in enumerate(weights):
            if heard := stretch(row, attention_map.columns):
                said = f"{heard.start:.2f}–{heard.end:.2f} s"
                axes.text(extent[1] + 0.08 * seconds / wide, at + 0.5, said, va="center", size=min(8, 40 * line),
                          **{**style, "color": grey})  # fmt: skip
        if len(attention_map.heads) > 1 or attention_map.head_names:
            axes.set_title(names[number], loc="left", size=9, pad=2, **style)
        if number + 1 < len(attention_map.heads):
            axes.set_xticks([])
    axes.set_xlabel("seconds", size=9, **{**style, "color": grey})
    axes.tick_params(axis="x", length=2, labelsize=8, labelcolor=ink)
    return figure


def overlaid(
    axes: Axes,
    picture: Any,
    attention_map: AttentionMap,
    weights: Float[np.ndarray, " column"],
    row: int,
    smooth: bool = False,
) -> None:
    """The picture with one row of weights over it."""
    axes.imshow(picture, extent=(0, 1, 1, 0), aspect="auto", alpha=0.85)
    grid = _grid(attention_map.columns) if smooth else None
    if grid is not None:
        shares = weights[grid] / attention_map.top
        axes.imshow(shares, over, vmin=0, vmax=1, extent=(0, 1, 1, 0), aspect="auto", interpolation="bicubic")
    _boxes(axes, attention_map, weights, row, shaded=grid is None)


def _grid(columns: tuple[Any, ...]) -> np.ndarray | None:
    """The numbers of the boxes as they lie, `[down, across]`; None where they do not tile the picture evenly."""
    tops, lefts = (sorted({getattr(one, side) for one in columns}) for side in ("top", "left"))
    places = {(one.top, one.left): number for number, one in enumerate(columns)}
    if len(places) != len(columns) or len(tops) * len(lefts) != len(columns) or len(tops) == len(columns) > 1:
        return None
    grid = np.array([[places.get((top, left), -1) for left in lefts] for top in tops])
    size = {(round(one.right - one.left, 6), round(one.bottom - one.top, 6)) for one in columns}
    tiles = size == {(round(1 / len(lefts), 6), round(1 / len(tops), 6))}
    return grid if tiles and (grid >= 0).all() else None


def _boxes(
    axes: Axes, attention_map: AttentionMap, weights: Float[np.ndarray, " column"], row: int, shaded: bool
) -> None:
    frames = [
        Rectangle((one.left, one.top), one.right - one.left, one.bottom - one.top)
        for one in attention_map.columns
        if isinstance(one, Box)
    ]
    if shaded:
        shades = over(weights / attention_map.top)
        axes.add_collection(PatchCollection(frames, facecolor=shades, edgecolor="none", antialiased=False))
    true = [frames[column] for at, column in attention_map.links if at == row]
    axes.add_collection(PatchCollection(true, facecolor="none", edgecolor="#2f7ed8", linewidth=1.6, zorder=3))
    axes.set(xlim=(0, 1), ylim=(1, 0), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=faint, linewidth=0.8)


def _headings(caption: str, title: str) -> list[str]:
    """The lines above the panels: the caption, and the title where it says more."""
    lines = caption.split("\n") if caption else []
    lines += [title] if title and title not in lines else []
    return [_short(visible(line), 4 * longest) for line in lines]


def _texts(
    attention_map: AttentionMap, escape: bool, caption: str
) -> tuple[list[str], list[str], list[str], list[str], str, list[str]]:
    """Labels of rows and columns, names of heads and axes and the heading as they will be drawn, and their fonts."""
    parts = [
        [_short(visible(token.text), longest) for token in attention_map.rows],
        [_short(visible(token.text), longest) for token in attention_map.columns],
        [_short(visible(name), longest) for name in attention_map.names],
        [_short(visible(name), 2 * longest) if name else "" for name in attention_map.axes],
        _headings(caption, attention_map.title),
    ]
    drawn, fonts = _drawable([text for part in parts for text in part], escape)
    left = iter(drawn)
    rows, columns, names, axes, headings = ([next(left) for _ in part] for part in parts)
    rows, columns = (
        [f"({text})" if out else text for text, out in zip(texts, left_out, strict=True)]
        for texts, left_out in zip((rows, columns), attention_map.left_out, strict=True)
    )
    return rows, columns, names, axes, "\n".join(headings), fonts


def _drawable(texts: list[str], escape: bool) -> tuple[list[str], list[str]]:
    """The texts with undrawable letters as numbers if `escape`, and the fonts for them."""
    fonts, undrawable = _fonts("".join(texts))
    if escape:
        # A picture of a control character (␛ is U+241B) gives the number of what it stands for (U+001B).
        numbers = {ord(c): f"⟨U+{ord(c) - 0x2400 if '␀' <= c <= '␟' else ord(c):04X}⟩" for c in undrawable}
        texts = [_short(text.translate(numbers), 4 * longest) for text in texts]
    return texts, fonts


def drawable(texts: list[str], most: int = longest) -> tuple[list[str], list[str]]:
    """Labels for a plot: shortened, every character visible, and the fonts that together draw them."""
    return _drawable([_short(visible(text), most) for text in texts], escape=True)


def _heat(axes: Axes, weights: Float[np.ndarray, "row column"], attention_map: AttentionMap, cell: float) -> None:
    """The cells, a fine grid where they are large enough for one, where inputs begin, and the true links."""
    rows, columns = weights.shape
    if weights.size:
        axes.imshow(weights, cmap=colours, vmin=0, vmax=attention_map.top, interpolation="nearest", aspect="auto")
    if cell > least_pitch:
        axes.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, color=faint, linewidth=0.5)
        axes.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, color=faint, linewidth=0.5)
    width = min(1.6, 12 * cell)
    for color, thick in (("white", 4 * width), (ink, width)):  # white on both sides, or dark cells would hide it
        axes.vlines(np.array(attention_map.breaks) - 0.5, -0.7, rows - 0.3, color=color, linewidth=thick, clip_on=False)
    frames = [Rectangle((column - 0.46, row - 0.46), 0.92, 0.92) for row, column in attention_map.links]
    axes.add_collection(PatchCollection(frames, facecolor="none", edgecolor=accent, linewidth=width, zorder=3))
    axes.set(xlim=(-0.5, max(columns, 1) - 0.5), ylim=(max(rows, 1) - 0.5, -0.5))
    for spine in axes.spines.values():
        spine.set(color=faint, linewidth=0.8)


def _labels(axes: Axes, rows: list[str], columns: list[str], cell: float, style: dict[str, Any]) -> None:
    """Tokens along both sides; where they stand too close to be read, every second, third, … of them."""
    step = math.ceil(least_pitch / cell)
    letters = [cell_len(label) <= 2 for label in columns[::step]]
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xticks(range(0, len(columns), step), columns[::step], **style)
    lean: dict[str, Any] = {"rotation": 50 if step == 1 else 90, "ha": "left", "rotation_mode": "anchor"}
    for label, letter in zip(axes.get_xticklabels(), letters, strict=True):
        if not letter:  # words lean, letters stand
            label.set(**lean, va="bottom" if step == 1 else "center")
    axes.set_yticks(range(0, len(rows), step), rows[::step], **style)
    axes.tick_params(length=0 if step == 1 else 2, width=0.3, color=ink, pad=3)


def _grey(axes: Axes, attention_map: AttentionMap) -> None:
    """Tokens that were not selected step back; their labels stand in brackets already."""
    for axis, left_out in zip((axes.yaxis, axes.xaxis), attention_map.left_out, strict=True):
        for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True):
            if left_out[int(place)]:
                label.set_color(grey)


def _scale(axes: Axes, attention_map: AttentionMap, style: dict[str, Any], cmap: str | Colormap = colours) -> None:
    """What the colours stand for, from 0 to where they end."""
    axes.set_title("weight", loc="left", size=8, pad=9, **{**style, "color": grey})
    axes.imshow(np.linspace(1, 0, 256)[:, None], cmap=cmap, vmin=0, vmax=1, aspect="auto", extent=(0, 1, 0, 1))
    axes.yaxis.tick_right()
    axes.set_xticks([])
    axes.set_yticks([0, 1], ["0", f"{attention_map.top:.2g}"], size=9, **style)
    axes.tick_params(length=0, pad=3)
    for spine in axes.spines.values():
        spine.set(color=faint, linewidth=0.5)


def _short(label: str, most: int) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"


def _fonts(text: str) -> tuple[list[str], set[str]]:
    """Families that together draw the text, in the order to try them, and the letters that none of them has."""
    chosen, missing = [first_font], {c for c in text if ord(c) not in _letters(first_font)}
    # Upright letters of about the usual weight: that weight first, then those without serifs, as the labels are.
    upright = [font for font in font_manager.fontManager.ttflist if font.style == "normal"] if missing else []
    weights = [(int(font_manager.weight_dict.get(str(font.weight), font.weight)), font.name) for font in upright]
    near = {(weight, "Sans" not in name, name) for weight, name in weights if 400 <= weight <= 500}
    for _, _, family in sorted(near):
        if found := {c for c in missing if ord(c) in _letters(family)}:
            chosen.append(family)
            missing -= found
        if not missing:
            break
    return [*chosen, "sans-serif"], missing  # the last is for viewers of an SVG that have none of these


@cache
def _letters(family: str) -> frozenset[int]:
    """The characters of the font that matplotlib takes for this family."""
    if re.search("Color|Last ?Resort", family):  # coloured pictures cannot be drawn, and boxes are no letters
        return frozenset()
    try:
        path = font_manager.findfont(font_manager.FontProperties(family=[family]), fallback_to_default=False)
        return frozenset(font_manager.get_font(path).get_charmap())
    except (ValueError, OSError, RuntimeError):  # a font that cannot be opened has nothing to offer
        return frozenset()
