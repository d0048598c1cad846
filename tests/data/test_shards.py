"""Token ids on disk: what is written comes back, is reused or made anew, and is checked before it is used."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data.shards import shards

ROWS = [[1, 2, 3], [70_000], [5, 6], [7], [8, 9, 10, 11]]


def never() -> list[list[int]]:
    raise AssertionError("they are there")


@pytest.mark.parametrize("size", [1, 3, 100])
def test_rows_come_back(tmp_path: Path, size: int) -> None:
    found = shards(tmp_path / "tokens", "key", 80_000, lambda: ROWS, size)
    assert list(found) == ROWS
    assert found[3] == [7]
    with pytest.raises(IndexError):
        found[5]
    parts = [(first, lengths().tolist()) for first, lengths in found.parts()]
    assert [length for _, some in parts for length in some] == [3, 1, 2, 1, 4]
    assert parts[-1][0] == 5 - len(parts[-1][1])
    assert list(shards(tmp_path / "tokens", "key", 80_000, never)) == ROWS
    assert list(shards(tmp_path / "tokens", "other", 80_000, lambda: ROWS[:1])) == ROWS[:1]
    assert list(shards(tmp_path / "none", "key", 80_000, list)) == []


def test_small_vocabularies_take_half_the_space(tmp_path: Path) -> None:
    for vocab, size in ((2**16, 2), (2**16 + 1, 4)):
        shards(tmp_path / str(vocab), "key", vocab, lambda: [[2**16 - 1]])
        assert np.lib.format.open_memmap(tmp_path / str(vocab) / "ids-00000.npy", "r").dtype.itemsize == size


def replaced(folder: Path, name: str, array: Any) -> None:
    with (folder / name).open("wb") as file:
        np.lib.format.write_array(file, np.asarray(array))


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: (folder / "index.json").unlink(),
        lambda folder: (folder / "index.json").write_text("[]"),
        lambda folder: (folder / "index.json").write_text(json.dumps({"key": "key", "rows": [6]})),
        lambda folder: (folder / "index.json").write_text(json.dumps({"key": "key", "rows": [-1]})),
        lambda folder: (folder / "ids-00000.npy").unlink(),
        lambda folder: (folder / "ids-00000.npy").write_bytes(b"\x93NUMPY"),
        lambda folder: (folder / "ids-00000.npy").write_bytes((folder / "ids-00000.npy").read_bytes()[:-1]),
        lambda folder: replaced(folder, "ids-00000.npy", np.full(11, 99, np.uint16)),
        lambda folder: replaced(folder, "ids-00000.npy", np.zeros(11, np.int64)),
        lambda folder: replaced(folder, "lengths-00000.npy", np.array([3, 1, 2, 1, 5], np.uint32)),
        lambda folder: replaced(folder, "lengths-00000.npy", np.array([3, 1, 2, 0, 5], np.uint32)),
        lambda folder: replaced(folder, "lengths-00000.npy", np.array([[3, 1, 2, 1, 4]], np.uint32)),
    ],
)
def test_what_is_damaged_is_made_anew(tmp_path: Path, harm: Any) -> None:
    folder, rows = tmp_path / "tokens", [*ROWS[:1], [4], *ROWS[2:]]
    shards(folder, "key", 20, lambda: rows)
    harm(folder)
    assert list(shards(folder, "key", 20, lambda: rows)) == rows
    assert list(shards(folder, "key", 20, never)) == rows


def test_nothing_is_left_of_one_that_failed(tmp_path: Path) -> None:
    def some() -> Iterator[list[int]]:
        yield [1]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        shards(tmp_path / "tokens", "key", 9, some, 1)
    assert list(tmp_path.iterdir()) == []


def test_one_shard_at_a_time_is_in_memory(tmp_path: Path) -> None:
    """Written and read, ten shards take as much memory as one, but for what is said of each."""
    peaks = []
    for count in (1, 10):
        tracemalloc.start()
        found = shards(tmp_path / str(count), "key", 9, lambda: ([1] * 100 for _ in range(50 * count)), 5_000)  # noqa: B023
        assert sum(map(len, found)) == 5_000 * count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
