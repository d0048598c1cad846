"""JSON lines and JSON arrays, however they are written, and every way they break."""

import json
from pathlib import Path

import pytest

from regard.data.json_rows import json_rows
from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.errors import RegardError

rows = [{"text": f'größe [{{ \\" {n}', "label": [n, {"deep": "]"}]} for n in range(300)]


def got(text: str, folder: Path, skip: bool = False) -> list[tuple[int, object]]:
    path = folder / "a.json"
    path.write_text(text, encoding="utf-8")
    log = ReadLog(skip)
    return [(number, row) for number, row, _ in json_rows(TextFile(str(path), "auto", log), log)]


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("piece", [7, 1 << 18])
def test_arrays(indent: int | None, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.reading.piece", piece)
    text = json.dumps(rows, indent=indent, ensure_ascii=False)
    found = got(f"\n{text}\n", tmp_path)
    assert [row for _, row in found] == rows
    lines = text.split("\n")
    for number, row in found[:3]:
        assert number == 2 if indent is None else lines[number - 2] == "  {"
        assert row


def test_lines(tmp_path: Path) -> None:
    text = "\n".join(map(json.dumps, rows[:3]))
    assert got(f"{text}\n\n", tmp_path) == [(number, row) for number, row in enumerate(rows[:3], 1)]
    assert got('["a", "b"]\n{"x": 1}\n[\n', tmp_path, skip=True) == [(2, {"x": 1})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[{"a": 1},\n {"a" 2}, {"a": 3}]',
            "a.json:2: not JSON (Expecting ':' delimiter); expected an array of objects",
        ),
        ('[{"a": 1},\n {"a": 2}', "a.json:2: not JSON (the array never ends)"),
        ('[{"a": 1},\n {"a": 2', "a.json:2: not JSON"),
        ('[{"a": 1}\n {"a": 2}]', "a.json:2: not JSON ('{' after an object)"),
        ('[{"a": 1}]\n[{"a": 2}]', "a.json:2: not JSON ('[' after the array)"),
        ('[{"a": 1}, 2]', "a.json:1: a JSON int; expected an object with named values; set data.skip=true"),
        ('[{"a": "' + "x" * (1 << 20) + '"}]', "a.json:1: line longer than 1,048,576 bytes"),
        ('[{"a": ' + "[" * 100_000, "a.json:1: not JSON"),
        ("[", "a.json:1: not JSON"),
    ],
)
def test_broken(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RegardError) as caught:
        got(text, tmp_path)
    assert message in str(caught.value)
