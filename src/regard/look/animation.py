"""An attention map over a picture as an animated GIF: a frame for each word, with what the model looked at.

Below the picture stand all words, the one of the frame in bold. Each frame stays for `PAUSE` milliseconds, the last one
longer, and the animation begins again.

    Path("caption.gif").write_bytes(animation(attention_map))
"""

from io import BytesIO

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from regard.errors import RegardError
from regard.look.attention_map import AttentionMap
from regard.look.heatmap import contained, drawable, faint, grey, ink, overlaid
from regard.look.picture import to_picture

__all__ = ["animation"]

PAUSE, LAST = 700, 2_000  # milliseconds
MOST = 64  # frames
WIDE, DOTS = 3.6, 100  # inches, and dots an inch
A_LINE, IN_A_LINE = 0.22, 40  # inches and characters of a line of words


def animation(attention_map: AttentionMap, smooth: bool = False) -> bytes:
    """The bytes of a GIF; of very many rows the first."""
    if not attention_map.in_picture:
        raise RegardError("an animation of weights that are not over a picture", expected=".png, .svg, .html or .json")
    lines = attention_map.lines()[:MOST]
    words, fonts = drawable([name for name, _ in lines])
    with contained():
        frames = [_frame(attention_map, number, words, fonts, smooth) for number in range(len(lines))]
    out, pauses = BytesIO(), [PAUSE] * (len(frames) - 1) + [LAST]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:], duration=pauses, loop=0, disposal=2)
    return out.getvalue()


def _frame(attention_map: AttentionMap, number: int, words: list[str], fonts: list[str], smooth: bool) -> Image.Image:
    picture = to_picture(attention_map.source)
    wide, high = (WIDE * one / max(picture.size) for one in picture.size)
    wide = max(wide, 0.4 * WIDE)
    rows = _wrapped(words)
    height = high + 0.3 + A_LINE * len(rows)
    figure = Figure(figsize=(wide + 0.2, height), dpi=DOTS, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0.1 / (wide + 0.2), 1 - (high + 0.1) / height, wide / (wide + 0.2), high / height))
    row = number % len(attention_map.rows)
    overlaid(axes, picture, attention_map, attention_map.lines()[number][1], row, smooth)
    for spine in axes.spines.values():
        spine.set(color=faint)
    for line, places in enumerate(rows):
        x = 0.1
        for place in places:
            now = place == number
            text = figure.text(
                x / (wide + 0.2),
                (A_LINE * (len(rows) - line) - 0.06) / height,
                words[place],
                size=9,
                color=ink if now else grey,
                weight="bold" if now else "normal",
                family=fonts,
                parse_math=False,
                usetex=False,
            )
            x += text.get_window_extent(canvas.get_renderer()).width / DOTS + 0.07  # type: ignore[no-untyped-call]
    canvas.draw()  # type: ignore[no-untyped-call]
    return Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]


def _wrapped(words: list[str]) -> list[list[int]]:
    """The numbers of the words of each line."""
    lines: list[list[int]] = [[]]
    used = 0
    for number, word in enumerate(words):
        if lines[-1] and used + len(word) > IN_A_LINE:
            lines.append([])
            used = 0
        lines[-1].append(number)
        used += len(word) + 1
    return lines
