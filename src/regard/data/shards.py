"""Token ids on disk: rows of ids in files that are mapped into memory and read where they are needed.

A folder of shards holds, for each shard, the ids of all rows one after the other and the length of each row, as NumPy
files; `index.json` says what they were made of. It is written under another name and renamed, so it is whole or not
there. What it holds is checked before it is used: it may come from anywhere.

    rows = shards(folder, key, vocab, lambda: windows)      # written unless it is there
    rows[5];  rows.parts()                                  # [(first row, lengths), …]
"""

import json
import shutil
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.format import open_memmap

from regard.errors import RegardError
from regard.files import new_folder, read_whole, write_whole

__all__ = ["SHARD", "Shards", "shards"]

SHARD = 10_000_000  # ids of one shard
INDEX, SMALL = "index.json", 2**24


class Shards(Sequence[list[int]]):
    """Rows of ids; those of one shard stand together."""

    def __init__(self, folder: Path, counts: Sequence[int]) -> None:
        self.folder, self.first = folder, [0, *accumulate(counts)]
        self._open: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def __len__(self) -> int:
        return self.first[-1]

    def __getitem__(self, row: int) -> list[int]:  # type: ignore[override]
        if not 0 <= row < len(self):
            raise IndexError(row)
        number = bisect_right(self.first, row) - 1
        ids, _, ends = self.shard(number)
        place = row - self.first[number]
        return ids[ends[place - 1] if place else 0 : ends[place]].tolist()  # type: ignore[no-any-return]

    def shard(self, number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        """Ids, lengths and the end of each row. The ids stay on disk."""
        if number not in self._open:
            ids, lengths = (open_memmap(self.folder / name, "r") for name in _names(number))
            self._open = {number: (ids, lengths, np.cumsum(lengths, dtype=np.int64))}  # one: the rest is let go
        return self._open[number]

    def parts(self) -> list[tuple[int, Callable[[], npt.NDArray[Any]]]]:
        """The first row of each shard, and what gives the lengths of its rows."""
        return [(first, lambda number=number: np.asarray(self.shard(number)[1]))  # type: ignore[misc]
                for number, first in enumerate(self.first[:-1])]  # fmt: skip

    def check(self, vocab: int) -> None:
        """Raises where rows do not fit their ids, or an id is not in the vocabulary."""
        for number, (first, last) in enumerate(zip(self.first, self.first[1:], strict=False)):
            ids, lengths, ends = self.shard(number)
            whole = ids.ndim == lengths.ndim == 1 and ids.dtype.kind == lengths.dtype.kind == "u"
            if not whole or len(lengths) != last - first or (len(ends) and ends[-1] != len(ids)):
                raise ValueError(f"shard {number} has the wrong size")
            if len(lengths) and int(lengths.min()) < 1:
                raise ValueError(f"shard {number} has an empty row")
            if any(int(ids[at : at + 2**20].max()) >= vocab for at in range(0, len(ids), 2**20)):
                raise ValueError(f"shard {number} has an id outside the vocabulary")


def shards(folder: Path, key: str, vocab: int, rows: Callable[[], Iterable[Sequence[int]]], size: int = 0) -> Shards:
    """The shards of these rows: those in the folder, if they were made with the same key, or new ones."""
    if folder.is_dir():
        with suppress(OSError, ValueError, KeyError, TypeError, RecursionError, RegardError):
            return _opened(folder, key, vocab)
        shutil.rmtree(folder)
    kind = np.dtype(np.uint16 if vocab <= 2**16 else np.uint32)
    with new_folder(folder) as making:
        counts = [_write(making, number, some, kind) for number, some in enumerate(_cut(rows(), size or SHARD))]
        write_whole(making / INDEX, json.dumps({"key": key, "rows": counts}))
    return _opened(folder, key, vocab)


def _opened(folder: Path, key: str, vocab: int) -> Shards:
    index = json.loads(read_whole(folder / INDEX, SMALL))
    counts = index["rows"]
    if index["key"] != key or not all(isinstance(one, int) and one >= 0 for one in counts):
        raise ValueError("it was made of something else")
    found = Shards(folder, counts)
    found.check(vocab)
    return found


def _names(number: int) -> tuple[str, str]:
    return f"ids-{number:05}.npy", f"lengths-{number:05}.npy"


def _cut(rows: Iterable[Sequence[int]], size: int) -> Iterator[list[Sequence[int]]]:
    some: list[Sequence[int]] = []
    held = 0
    for row in rows:
        some.append(row)
        held += len(row)
        if held >= size:
            yield some
            some, held = [], 0
    if some:
        yield some


def _write(folder: Path, number: int, rows: Sequence[Sequence[int]], kind: np.dtype[Any]) -> int:
    lengths = np.array([len(row) for row in rows], np.uint32)
    ids = np.fromiter((one for row in rows for one in row), kind, int(lengths.sum()))
    for name, array in zip(_names(number), (ids, lengths), strict=True):
        written = open_memmap(folder / name, "w+", array.dtype, array.shape)
        written[:] = array
        written.flush()
    return len(rows)
