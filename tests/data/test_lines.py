"""Files as they come: what ends a line, and every way a file can be broken."""

import gzip
import json
import os
from pathlib import Path

import pytest
from text_columns import read_texts as read

from regard.data.lines import lines
from regard.data.read import read_parallel
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
        (b"a\tb\nc\n", "a.tsv:2: 1 field; expected 2 (source, target); separate the fields with a tab"),
        (b"a\tb\nc\td\te\n", "a.tsv:2: 3 fields; expected 2 (source, target); remove the extra tab"),
        (b"a\tb\nc\xc3\xa9\xff\td\n", "a.tsv:2: byte 4 of the line is 0xff; expected UTF-8"),
        (
            b"a\tb\nc\xff\xfe\td\n",
            "a.tsv:2: byte 2 of the line is 0xff; expected UTF-8; save the file as UTF-8, set",
        ),
        (b"a\tb\nc\xc3\xa9\td\ne\xe9\td\n", "a.tsv:3: byte 2 of the line is 0xe9"),
        (gzip.compress(b"a\tb", mtime=0), "a.tsv: compressed with gzip; expected text; rename it to end in .gz"),
        (b"PK\x03\x04abc", "a.tsv: a ZIP archive or a spreadsheet; expected text; save its table as CSV"),
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
    assert said("folder.tsv") == "folder.tsv: is a folder; expected a file"
    assert "train.parquet: unknown file type" in said(write("train.parquet", "a"))
    assert "cannot be read" in said("a\x00.tsv")
    assert "cannot be read" in said("a" * 5000 + ".tsv")

    def refuse(*given: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert said("train.tsv") == "train.tsv: cannot be read (Permission denied)"


def test_lines_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.lines.longest", 10)
    monkeypatch.setattr("regard.reading.piece", 3)  # far less than a line, as it is in earnest
    assert [e.target for e in read(write("a.tsv", "1234\t6789\na\tb"))] == ["6789", "b"]
    for rest in ("", "\n", "\nc\td\n"):
        assert "a.tsv:2: line longer than" in said(write("a.tsv", "a\tb\n12345\t6789x" + rest))
    assert [e.target for e in read(write("a.tsv", "ä\t6789\r\na\tb\r\n\r\n"))] == ["6789", "b"]
    assert "a.tsv:2: byte 3 of the line is 0xff" in said(write("a.tsv", b"\xef\xbb\xbfa\tb\nab\xff\td\n"))


def test_a_file_that_is_needed_whole_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.lines.most", 3)
    assert lines(write("a.txt", "\n\nx")) == ["", "", "x"]
    with pytest.raises(RegardError, match="more than 3 lines"):
        lines(write("a.txt", "\n\n\nx"))


def test_blank_lines_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.read.blanks", 3)
    assert len(read_parallel([write("a.de", "x\n\n\n\ny" + "\n" * 9), write("a.en", "1\n\n\n\n2\n")])) == 5
    with pytest.raises(RegardError, match="more than 3 blank lines"):
        read_parallel([write("a.de", "x\n\n\n\n\ny"), write("a.en", "x\n\n\n\n\ny")])


def test_a_bomb_is_no_data() -> None:
    assert "a.tsv.gz: decompresses to more than 2,097,152 bytes" in said(
        write("a.tsv.gz", (b"a\t" + b"b" * 500 + b"\n") * 6_000)
    )


def test_a_quote_that_never_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.data.read.longest", 100)
    assert said(write("a.csv", 'a,b\n"c,d\n' + "e,f\n" * 100)).startswith("a.csv:2: not CSV (field larger than")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a", "target": NaN}', "a.jsonl:1: 'target' is nan; expected a string or a number"),
        ('{"source": "a", "target": 1e999}', "a.jsonl:1: 'target' is inf; expected"),
        ('{"source": "a", "target": ' + "9" * 5000 + "}", "a.jsonl:1: not JSON"),
        ('{"source": ' + "[" * 900 + "]" * 900 + ', "target": "b"}', "a.jsonl:1: 'source' is [[[["),
        ('{"a":' * 900 + "1" + "}" * 900, "a.jsonl:1: no field 'source'"),
        ('{"a":' * 100_000, "a.jsonl:1: not JSON"),
    ],
)
def test_json_that_goes_too_far(line: str, message: str) -> None:
    write("a.jsonl", line)
    with pytest.raises(RegardError) as caught:
        read("a.jsonl", 2, (), (("source", "target"),))
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 1000
