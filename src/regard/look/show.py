"""Weights of any model, shown with regard's views in one line: `regard.show(weights, rows, columns)`.

    regard.show(attention[0, 3], ["the", "cat"], ["le", "chat"])                  # one head
    regard.show(outputs.attentions[-1], tokens, tokens, title="last layer")       # [1, heads, query, key]
    print(regard.show(w, rows, columns));  regard.show(w, rows, columns).save("map.html")

It returns an `AttentionMap`: end a notebook cell with it, print it, or save it as .png, .svg, .html, .json or .txt.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.look.attention_map import AttentionMap
from regard.types import Token

__all__ = ["show"]


def show(
    weights: Any,
    rows: Sequence[object],
    columns: Sequence[object],
    title: str = "",
    head_names: Sequence[str] = (),
) -> AttentionMap:
    """`weights` is an array, a tensor or nested lists: [row, column], [head, row, column], or either of these with a
    batch axis of one in front. Rows attend to columns; both are strings, or tokens with their place in a text."""
    array = _array(weights)
    if array.ndim == 4 and len(array) == 1:
        array = array[0]
    if array.ndim not in (2, 3):
        raise RegardError(
            f"weights of shape {list(array.shape)}",
            expected="[row, column] or [head, row, column]",
            do="choose one example of the batch, as weights[0]",
        )
    return AttentionMap(array, _tokens(rows, "rows"), _tokens(columns, "columns"), title, head_names=tuple(head_names))


def _array(weights: Any) -> np.ndarray:
    """A tensor may have a gradient, be on a GPU, or be in half precision."""
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu().double().numpy()
    try:
        return np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RegardError(f"weights that are no array ({error})", expected="an array, a tensor or lists") from None


def _tokens(regions: Sequence[object], side: str) -> tuple[Token, ...]:
    if isinstance(regions, str):
        raise RegardError(f"{side}={regions!r:.40}", expected="a list with one string for each", do="split it first")
    found: list[Token] = []
    for one in regions:
        if not isinstance(one, str | Token):
            raise RegardError(f"{side} with {one!r:.40}", expected="strings or tokens")
        found.append(Token(one) if isinstance(one, str) else one)
    return tuple(found)
