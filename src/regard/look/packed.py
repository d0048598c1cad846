"""Packed: the weights of hundreds of heads as text that a page can hold, a byte each.

A head of T × T weights is stored as the largest weight of each row (float32) and, for each weight, its share of that in
1/255 (uint8), so that no weight is off by more than 1/510 of the largest in its row. The bytes are deflated and written
in base64; the page reads a head when it is looked at. Small pictures of all heads, each the largest weights of up to
48 × 48 blocks, come first and together.

    table(Grid(weights, layers, extra, rows, columns, axes, scores), "encoder: a text")
"""

import base64
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from regard.look.attention_map import AttentionMap
from regard.look.scene import table as table_of
from regard.regions import Token

__all__ = ["Grid", "pack", "table", "thumbnail", "unpack"]

SIDE = 48  # of a small picture
LEVEL = 6  # of zlib


@dataclass(frozen=True)
class Grid:
    """Layers × heads of weights, and single squares beside them: `extra`, by name."""

    weights: Float[np.ndarray, "layer head row column"]
    layers: tuple[int, ...]
    extra: Mapping[str, Float[np.ndarray, "row column"]]
    rows: tuple[Token, ...]
    columns: tuple[Token, ...]
    axes: tuple[str, str]
    scores: Mapping[str, Float[np.ndarray, "layer head"]]  # of each head, by what is searched for


def _deflated(content: bytes) -> str:
    made = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    return base64.b64encode(made.compress(content) + made.flush()).decode()


def pack(weights: Float[np.ndarray, "row column"]) -> str:
    """A square as text."""
    top = weights.max(-1, initial=0.0).astype(np.float32)
    shares = np.divide(weights, top[:, None], out=np.zeros(weights.shape, np.float32), where=top[:, None] > 0)
    return _deflated(top.astype("<f4").tobytes() + np.rint(shares * 255).astype(np.uint8).tobytes())


def unpack(packed: str, rows: int, columns: int) -> Float[np.ndarray, "row column"]:
    """As the page reads it."""
    content = zlib.decompress(base64.b64decode(packed), -15)
    top = np.frombuffer(content[: 4 * rows], "<f4")
    shares = np.frombuffer(content[4 * rows :], np.uint8).reshape(rows, columns)
    return np.asarray(shares / np.float32(255) * top[:, None])


def thumbnail(weights: Float[np.ndarray, "row column"], side: int = SIDE) -> UInt8[np.ndarray, "high wide"]:
    """The largest weight of each block, in 1/255 of the largest of all."""
    at = [np.unique(np.linspace(0, size, min(size, side), endpoint=False).astype(int)) for size in weights.shape]
    blocks = np.maximum.reduceat(np.maximum.reduceat(weights, at[0], axis=0), at[1], axis=1)
    return np.rint(blocks / (blocks.max(initial=0.0) or 1.0) * 255).astype(np.uint8)


def table(grid: Grid, title: str) -> dict[str, Any]:
    """What the page needs of it, in the form of an attention map."""
    layers, heads, high, wide = grid.weights.shape
    first = next(iter(grid.extra.values()))
    whole = AttentionMap(np.asarray(first, np.float64), grid.rows, grid.columns, title, axes=grid.axes)
    squares = grid.weights.reshape(layers * heads, high, wide)
    packed = [*map(pack, grid.extra.values()), *map(pack, squares)]
    small = np.stack([thumbnail(one) for one in squares])
    names = [f"layer {layer}, head {head}" for layer in grid.layers for head in range(1, heads + 1)]
    top = max(float(squares.max(initial=0.0)), *(float(one.max(initial=0.0)) for one in grid.extra.values()))
    return {
        **table_of(whole),
        "names": [*grid.extra, *names],
        "heads": [[] for _ in packed],
        "packed": packed,
        "top": top or 1.0,
        "panels": "heads",
        "grid": {
            "layers": list(grid.layers),
            "heads": heads,
            "first": len(grid.extra),
            "small": _deflated(small.tobytes()),
            "side": list(small.shape[1:]),
            "bytes": sum(map(len, packed)),
            "weights": math.prod(grid.weights.shape),
            "searches": [
                {"name": name, "scores": [round(float(one), 4) for one in scores.ravel()]}
                for name, scores in grid.scores.items()
            ],
        },
    }
