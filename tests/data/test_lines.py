"""Files as they come: what ends a line, and every way a file can be broken."""

import gzip
import json
import os
from pathlib import Path

import pytest

from regard.data.read import read, read_parallel
from regard.errors import RegardError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, data: bytes | str) -> str:
    data = data.encode() if isinstance(data, str) else data
    Path(name).write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return name


def said(path: str, columns: int = 2, fields: tuple[str, ...] = ()) -> str:
    with pytest.raises(RegardError) as caught:
        read(path, columns, fields)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_only_a_line_feed_ends_a_line() -> None:
    odd = "x\u2028y\x0b\x85\x1c\u2029\x0cz"
    assert [e.source for e in read(write("a.tsv", f"{odd}\t1\n{odd}\t2\n"))] == [odd, odd]
    assert [e.source for e in read_parallel([write("a.de", f"{odd}\nb"), write("a.en", "1\n2\n")])] == [odd, "b"]
    assert [e.source for e in read(write("a.csv", f"{odd},1\n"))] == [odd]
    assert [
        e.source for e in read(write("a.jsonl", json.dumps({"source": odd, "target": ""}, ensure_ascii=False)))
    ] == [odd]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.tsv: the file is empty"),
        (b"\xef\xbb\xbf", "a.tsv: the file is empty"),
        (b"\n \n", "a.tsv: only blank lines"),
        (b"a\tb\n\nc\td\n", "a.tsv:2: blank line; remove it"),
        (b"a\tb\nc\n", "a.tsv:2: 1 field; expected 2 (source, target); separate the fields with a tab"),
        (b"a\tb\nc\td\te\n", "a.tsv:2: 3 fields; expected 2 (source, target); remove the extra tab"),
        (b"a\tb\nc\xc3\xa9\xff\td\n", "a.tsv:2: byte 4 of the line is 0xff; expected UTF-8"),
        (b"a\tb\nc\xe9\td\n", "a.tsv:2: byte 2 of the line is 0xe9"),
        ("a\tb".encode("utf-16"), "a.tsv: UTF-16; expected UTF-8"),
        (gzip.compress(b"a\tb", mtime=0), "a.tsv: packed with gzip; let its name end in .gz"),
    ],
)
def test_broken_files(data: bytes, message: str) -> None:
    assert message in said(write("a.tsv", data))


@pytest.mark.parametrize(
    "data", [b"not gzip", gzip.compress(b"a\tb\n" * 99, mtime=0)[:-9], gzip.compress(b"a", mtime=0)[:11] + b"\xff" * 9]
)
def test_broken_gzip(data: bytes) -> None:
    Path("a.tsv.gz").write_bytes(data)
    assert "a.tsv.gz: broken gzip" in said("a.tsv.gz")


def test_files_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    write("train.tsv", "a\tb")
    assert said("trian.tsv") == "trian.tsv: no such file; did you mean 'train.tsv'?"
    assert said("zzz.csv") == "zzz.csv: no such file"
    assert "no folder 'nowhere'" in said("nowhere/a.tsv")
    Path("folder.tsv").mkdir()
    assert said("folder.tsv") == "folder.tsv: a folder; expected a file"
    assert "train.parquet: unknown kind of file" in said(write("train.parquet", "a"))
    assert "cannot be read" in said("a\x00.tsv")
    assert "cannot be read" in said("a" * 5000 + ".tsv")

    def refuse(*given: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert said("train.tsv") == "train.tsv: cannot be read (Permission denied)"
