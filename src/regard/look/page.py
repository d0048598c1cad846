"""Gazes as one HTML page that needs nothing else: point at a word to see what it looked at.

The page asks the network for nothing and runs nothing but its own script: a Content-Security-Policy
names the hashes of its one style and one script and forbids the rest. Tokens travel as JSON and reach
the page as text, never as markup.

    Path("looks.html").write_text(page(gazes, "Ten dates"), encoding="utf-8")
"""

import base64
import hashlib
import html
import json
import math
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from rich.cells import cell_len

from regard.look.gaze import Gaze, visible
from regard.types import Token

__all__ = ["fragment", "page"]

longest = 200  # characters of a token; the style shows fewer where room is short
digits = 4  # of the largest weight; the eye sees two


def page(gazes: Sequence[Gaze], title: str = "") -> str:
    """The whole page as text, one figure a gaze."""
    # One gaze under its own title needs no second heading above it.
    alone = len(gazes) == 1 and gazes[0].title in ("", title)
    name = html.escape(_short(visible(title))) if title else ""
    style, script = _part("page.css"), _part("page.js")
    return Template(_part("page.html")).substitute(
        style_hash=_hash(style),
        script_hash=_hash(script),
        style=style,
        script=script,
        title=name or "regard",
        heading=f'<h1 dir="auto">{name}</h1>' if name and not alone else "",
        data=_embedded({"gazes": [_table(gaze, title if alone else gaze.title) for gaze in gazes]}),
    )


def fragment(gaze: Gaze) -> str:
    """The page in a frame of its own, for a notebook: its style and script stay inside, and ours outside."""
    longer = max(len(gaze.rows), 1)
    cell = 24 if max(longer, len(gaze.columns)) <= 40 else 15
    height = min(420 + cell * longer, 900)
    whole = html.escape(page([gaze], gaze.title), quote=True)
    return (
        f'<iframe title="what was looked at" sandbox="allow-scripts" width="100%" height="{height}" '
        f'frameborder="0" srcdoc="{whole}"></iframe>'
    )


def _table(gaze: Gaze, title: str) -> dict[str, Any]:
    """What the script needs of a gaze: heads as flat lists, their mean first where there are several."""
    heads = [(_short(visible(name)), head) for name, head in zip(gaze.names, gaze.heads, strict=True)]
    if len(heads) > 1:
        heads.insert(0, ("mean", gaze.mean().weights))
    rows_out, columns_out = gaze.left_out
    places = min(digits - 1 - math.floor(math.log10(gaze.top)), 300)
    return {
        "title": _short(visible(title)) if title else "",
        "rows": _tokens(gaze.rows, rows_out),
        "columns": _tokens(gaze.columns, columns_out),
        "directions": {"rows": _direction(gaze.rows), "columns": _direction(gaze.columns)},
        "names": [name for name, _ in heads],
        "heads": [head.round(places).ravel().tolist() for _, head in heads],
        "top": gaze.top,
        "links": gaze.links,
        "breaks": gaze.breaks,
    }


def _tokens(tokens: Sequence[Token], left_out: Sequence[bool]) -> list[dict[str, Any]]:
    """As they are shown; one that was not chosen stands in brackets."""
    shown = [_short(visible(token.text)) for token in tokens]
    shown = [f"({text})" if out else text for text, out in zip(shown, left_out, strict=True)]
    return [
        {"text": text, "letter": cell_len(text) <= 2, "space": not token.text.strip(), "out": out}
        for text, token, out in zip(shown, tokens, left_out, strict=True)
    ]


def _direction(tokens: Sequence[Token]) -> str:
    """Where the line begins, by its first letter with a direction (which isolated tokens hide from the browser)."""
    kinds = (unicodedata.bidirectional(c) for t in tokens for c in t.text)
    return "rtl" if next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L" else "ltr"


def _short(text: str) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in, whatever the text in it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "".join(f"\\u{ord(c):04x}" if c in "<>&\u2028\u2029" else c for c in text)


@cache
def _part(name: str) -> str:
    return files("regard.look").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
