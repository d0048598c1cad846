"""Weights of any model, shown with regard's views in one line: `regard.show(weights, rows, columns)`.

    regard.show(attention[0, 3], ["the", "cat"], ["le", "chat"])                  # one head
    regard.show(outputs.attentions[-1], tokens, tokens, title="last layer")       # [1, heads, query, key]
    regard.show(weights, ["cat"], boxes, source="cat.jpg")                        # on a picture
    regard.show(weights, ["cat"], intervals, source="cat.wav")                    # below a recording
    print(regard.show(w, rows, columns));  regard.show(w, rows, columns).save("map.html")

It returns an `AttentionMap`: end a notebook cell with it, print it, or save it as .png, .svg, .html, .json or .txt.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.look.attention_map import AttentionMap
from regard.look.picture import to_url
from regard.look.sound import sound_url
from regard.regions import Box, Interval, Region, Token

__all__ = ["show"]


def show(
    weights: Any,
    rows: Sequence[object],
    columns: Sequence[object],
    title: str = "",
    head_names: Sequence[str] = (),
    source: Any = "",
    axes: tuple[str, str] = ("", ""),
) -> AttentionMap:
    """Show weights of any model with regard's views.

    `weights` is an array, a tensor or nested lists: [row, column], [head, row, column], or either of these with a
    batch axis of one in front. Rows attend to columns; both are strings or regions (`regard.regions`). Columns that are
    boxes need their picture as `source`: a path, a PIL image, an array [h, w] or [h, w, 3], or a data URL. Columns that
    are intervals may have their recording: a path, or samples and their rate. `axes` names the rows and the columns,
    for example ("target", "source")."""
    array = _array(weights)
    if array.ndim == 4 and len(array) == 1:
        array = array[0]
    if array.ndim not in (2, 3):
        raise RegardError(
            f"weights of shape {list(array.shape)}",
            expected="[row, column] or [head, row, column]",
            do="choose one example of the batch, for example weights[0]",
        )
    across = _regions(columns, "columns")
    empty = isinstance(source, str) and not source
    if empty and across and all(isinstance(one, Box) for one in across):
        raise RegardError("boxes, but no picture", do="give it as source: a path, a PIL image or an array")
    timed = bool(across) and all(isinstance(one, Interval) for one in across)
    url = "" if empty else sound_url(source) if timed else to_url(source)
    return AttentionMap(
        array, _regions(rows, "rows"), across, title, head_names=tuple(head_names), source=url, axes=axes
    )


def _array(weights: Any) -> np.ndarray:
    """A tensor may have a gradient, be on a GPU, or be in half precision."""
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu().double().numpy()
    try:
        return np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RegardError(f"cannot read the weights ({error})", expected="an array, a tensor or lists") from None


def _regions(given: Sequence[object], side: str) -> tuple[Region, ...]:
    if isinstance(given, str):
        raise RegardError(f"{side}={given!r:.40}", expected="a list with one string for each", do="split it first")
    found: list[Region] = []
    for one in given:
        if not isinstance(one, str | Region):
            raise RegardError(f"{side} with {one!r:.40}", expected="strings or regions")
        found.append(Token(one) if isinstance(one, str) else one)
    return tuple(found)
