"""Files that others wrote: only files, only lines that fit, and nothing that unpacks without end."""

import gzip
import os
from contextlib import suppress
from pathlib import Path

import pytest

from regard import reading
from regard.errors import RegardError
from regard.reading import open_file, pieces


def said(path: str | Path, packed: bool = False) -> str:
    with pytest.raises(RegardError) as caught:
        list(pieces(str(path), packed))
    return str(caught.value)


@pytest.mark.parametrize("size", [0, 1, 1000, reading.piece, reading.piece + 1])
def test_pieces_are_the_whole(tmp_path: Path, size: int) -> None:
    data, path = os.urandom(size), tmp_path / "a"
    path.write_bytes(data)
    assert b"".join(pieces(str(path), packed=False)) == data
    assert all(map(len, pieces(str(path), packed=False)))
    half = size // 2
    path.write_bytes(gzip.compress(data[:half]) + gzip.compress(data[half:]))  # of two members, as gzip itself allows
    assert b"".join(pieces(str(path), packed=True)) == data


def test_what_unpacks_without_end_is_stopped(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(20):
            file.write(b"\n" * (1 << 20))
    assert ": decompresses to more than 2,097,152 bytes, over 30 times its size; expected" in said(path, packed=True)
    path.write_bytes(gzip.compress(b"\n" * reading.unpacked))
    assert sum(map(len, pieces(str(path), packed=True))) == reading.unpacked  # what is small is no matter


def test_of_what_unpacks_without_end_little_is_handed_on(tmp_path: Path) -> None:
    """Whoever reads it would work on 30 MB of lines, until enough of them have come to refuse the file."""
    path, read = tmp_path / "lines.jsonl.gz", 0
    line = b'{"sentence": "ein Satz", "label": 2}\n'
    with gzip.open(path, "wb") as file:
        for _ in range(300):
            file.write(line * ((1 << 20) // len(line)))
    assert reading.ratio * path.stat().st_size > 20 << 20
    with suppress(RegardError):  # the test above has it
        for data in pieces(str(path), packed=True):
            read += len(data)
    assert read < 5 << 20


def test_a_beginning_that_packs_well_is_no_matter(tmp_path: Path) -> None:
    path, data = tmp_path / "a.gz", bytes(4 << 20) + os.urandom(1 << 20)
    path.write_bytes(gzip.compress(data))
    assert b"".join(pieces(str(path), packed=True)) == data


@pytest.mark.parametrize(
    "data", [b"", b"\x1f\x8b", b"plain", gzip.compress(b"a" * 999, mtime=0)[:-5], gzip.compress(b"a", mtime=0) + b"x"]
)
def test_broken_gzip(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(data)
    if data:
        assert said(path, packed=True).startswith(f"{path}: broken gzip (")
    else:
        assert list(pieces(str(path), packed=True)) == []


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        assert said(path) == f"{path}: is a device or a named pipe; expected a file; save its content to a file"
    assert said(tmp_path) == f"{tmp_path}: is a folder; expected a file"
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "cannot be read" in said(tmp_path / "loop")
    assert "cannot be read" in said("a\0b")
    assert "no such file" in said("~nobody-of-that-name/a")


def test_a_pipe_that_is_given_open_is_read() -> None:
    """As a shell gives it: regard predict RUN <(zcat lines.gz)."""
    ours, theirs = os.pipe()
    os.write(theirs, b"abc")
    os.close(theirs)
    with open_file(f"/dev/fd/{ours}") as file:
        assert file.read() == b"abc"
    os.close(ours)


def test_a_missing_file_is_told_with_one_of_a_similar_name(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").touch()
    assert said(tmp_path / "pair.tsv").endswith(f"no such file; did you mean '{tmp_path / 'pairs.tsv'}'?")
    assert said(tmp_path / "other").endswith("other: no such file")
