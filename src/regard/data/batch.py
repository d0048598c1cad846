"""Bucketing: batches of examples with similar lengths, so that there is little padding.

A batch has at most `tokens` tokens, padding included (its longest row × its rows, on its longer side), or at most
`rows` rows, or both. A row longer than `tokens` is a batch by itself.

The result depends only on the arguments. Batches differ between epochs: lengths are scaled by a random few percent
before sorting, and the batches are shuffled.

    for rows in batches(lengths, tokens=4096, seed=1, epoch=3): ...
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from regard.errors import RegardError

__all__ = ["Lengths", "batches", "in_order", "through"]

Lengths = Sequence[int] | Sequence[tuple[int, ...]] | npt.NDArray[Any]
"""For each row its length, or the length of each of its sides."""

noise = 0.1  # the most by which a length is stretched before sorting, as a share


def batches(lengths: Lengths, *, seed: int, epoch: int, tokens: int = 0, rows: int = 0) -> list[list[int]]:
    """Row numbers of each batch, shuffled for training; every row once."""
    longest = _longest(lengths)
    random = np.random.default_rng([seed, epoch])
    # `+ random` also parts rows of one length; the two draws are made whatever the lengths are.
    stretched = longest * (1 + noise * random.random(len(longest))) + random.random(len(longest))
    cut = _cut(longest, np.argsort(stretched, kind="stable"), tokens, rows)
    return [cut[number] for number in random.permutation(len(cut))]


def through(
    parts: Sequence[tuple[int, Callable[[], Lengths]]], *, seed: int, epoch: int, tokens: int = 0, rows: int = 0
) -> Iterator[list[int]]:
    """Batches of rows that come in parts, one part after another in an order of its own for each epoch. A part is its
    first row and what gives the lengths of its rows; only those of one part are in memory."""
    order = np.random.default_rng([seed, epoch, len(parts)]).permutation(len(parts)) if len(parts) > 1 else [0]
    for number in order[: len(parts)]:
        first, lengths = parts[number]
        for batch in batches(lengths(), seed=seed, epoch=epoch + (int(number) << 32), tokens=tokens, rows=rows):
            yield [first + row for row in batch] if first else batch


def in_order(lengths: Lengths, tokens: int = 0, rows: int = 0) -> list[list[int]]:
    """For evaluation: longest first (so that out-of-memory errors come at once), nothing random."""
    longest = _longest(lengths)
    return _cut(longest, np.argsort(-longest, kind="stable"), tokens, rows)


def _longest(lengths: Lengths) -> npt.NDArray[np.int64]:
    sides = np.asarray(lengths, dtype=np.int64)
    return sides if sides.ndim == 1 else sides.max(axis=1)


def _cut(max_length: npt.NDArray[np.int64], order: npt.NDArray[np.intp], tokens: int, rows: int) -> list[list[int]]:
    if tokens < 0 or rows < 0 or not (tokens or rows):
        raise RegardError(f"tokens={tokens} and rows={rows} for a batch", expected="neither below 0 and one above 0")
    cut: list[list[int]] = []
    widest = 0
    for row, length in zip(order.tolist(), max_length[order].tolist(), strict=True):
        full = cut and (
            (rows and len(cut[-1]) >= rows) or (tokens and max(widest, length) * (len(cut[-1]) + 1) > tokens)
        )
        if full or not cut:
            cut.append([])
            widest = 0
        cut[-1].append(row)
        widest = max(widest, length)
    return cut
