"""A scene as one self-contained HTML page: hover over a word to see what it attends to.

The page requests nothing from the network and runs nothing but its own script: a Content-Security-Policy names the
hashes of its one style and one script, allows pictures that are part of the page (data URLs), and forbids the rest (a
live page may ask the service that sent it). Tokens travel as JSON and reach the page as text, never as markup.

    Path("looks.html").write_text(page(attention_maps, "Ten dates"), encoding="utf-8")
    Path("looks.html").write_text(page(scene(items, runs)), encoding="utf-8")

`page.js` is built from the TypeScript in the folder `page`: `npm ci && npm run build` there.
"""

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from regard.look.attention_map import AttentionMap
from regard.look.scene import of_maps

__all__ = ["fragment", "framed", "page"]


def page(shown: Mapping[str, Any] | Sequence[AttentionMap], title: str = "") -> str:
    """The whole page as text, of a scene or of attention maps alone."""
    data = shown if isinstance(shown, Mapping) else of_maps(shown, title)
    style, script = _part("page.css"), _part("page.js")
    return Template(_part("page.html")).substitute(
        style_hash=_hash(style),
        script_hash=_hash(script),
        connect=" connect-src 'self';" if data.get("live") else "",
        style=style,
        script=script,
        title=html.escape(data.get("title") or "regard"),
        data=_embedded(data),
    )


def fragment(attention_map: AttentionMap) -> str:
    """The page in a frame of its own, for a notebook: its style and script stay inside, and ours outside."""
    longer = max(len(attention_map.rows), 1)
    if attention_map.in_picture:
        longer, cell = math.ceil(longer / 4), 260
    else:
        cell = 30 if max(longer, len(attention_map.columns)) <= 40 else 15
    height = min(430 + cell * longer, 900)
    return framed(page([attention_map], attention_map.title), "attention map", height)


def framed(whole: str, title: str, height: int) -> str:
    """A page in a frame."""
    return (
        f'<iframe title="{html.escape(title, quote=True)}" sandbox="allow-scripts allow-downloads" width="100%" '
        f'height="{height}" frameborder="0" srcdoc="{html.escape(whole, quote=True)}"></iframe>'
    )


def _embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in, whatever the text in it; half a surrogate pair is escaped too."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[\0<>&\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


@cache
def _part(name: str) -> str:
    return files("regard.look").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
