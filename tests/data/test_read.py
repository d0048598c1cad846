"""Every form of table, and every way a row can be wrong: each said in one line, with the place."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from text_columns import read_texts as read

from regard.data.read import Form, read_parallel
from regard.errors import RegardError
from regard.types import Example


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, data: bytes | str) -> str:
    data = data.encode() if isinstance(data, str) else data
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return name


def said(path: str, columns: int = 2, fields: tuple[str, ...] = ()) -> str:
    with pytest.raises(RegardError) as caught:
        read(path, columns, fields)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_by_hand() -> None:
    assert read(write("a.tsv", "ein Hund\ta dog\nzwei\ttwo\n")) == [
        Example(("ein Hund",), "a dog", "a.tsv:1"),
        Example(("zwei",), "two", "a.tsv:2"),
    ]


@pytest.mark.parametrize("name", ["a.tsv", "a.txt", "a.tsv.gz", "A.TSV"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_tsv_however_it_was_saved(name: str, end: str, last: str, bom: str) -> None:
    path = write(name, bom + ("a\tb\nc d\te" + last).replace("\n", end))
    assert [(e.source, e.target) for e in read(path)] == [("a", "b"), ("c d", "e")]


def test_columns() -> None:
    assert read(write("a.tsv", "a\tb\tc\n"), columns=3)[0] == Example(("a", "b"), "c", "a.tsv:1")
    assert read("a.tsv", fields=("2", "1"))[0] == Example(("b",), "a", "a.tsv:1")
    assert read(write("b.txt", "a b c\n"), columns=1)[0] == Example(("a b c",), "", "b.txt:1")
    assert read(write("c.tsv", "\t\na\t\n"))[0] == Example(("",), "", "c.tsv:1")  # empty fields are not a blank line


def test_header() -> None:
    write("a.tsv", "id\ten\tde\n1\tdog\tHund\n")
    assert read("a.tsv", fields=("de", "en")) == [Example(("Hund",), "dog", "a.tsv:2")]
    assert "did you mean 'en'?" in said("a.tsv", fields=("de", "eng"))
    assert "'source' is not a column; columns: en, de, id" in said("a.tsv", fields=("source", "target"))
    assert "no column 4; expected 1 to 3" in said("a.tsv", fields=("1", "4"))
    assert "no lines after the header" in said(write("b.tsv", "de\ten\n"), fields=("de", "en"))
    assert "b.tsv:2: 3 fields; expected 2, as in line 1" in said(
        write("b.tsv", "de\ten\n1\t2\t3\n"), fields=("de", "en")
    )
    assert "twice" in said(write("b.tsv", "de\ten\ten\n1\t2\t3\n"), fields=("de", "en"))


def test_csv() -> None:
    path = write("a.csv", 'mr,ref\n"name[A], area[B]","He said ""yes"",\nthen left."\nx,y\n')
    assert read(path, fields=("mr", "ref")) == [
        Example(("name[A], area[B]",), 'He said "yes",\nthen left.', "a.csv:2"),
        Example(("x",), "y", "a.csv:4"),
    ]
    assert read(write("b.csv.gz", "a,b\n"))[0] == Example(("a",), "b", "b.csv.gz:1")
    limit = csv.field_size_limit()
    assert len(read(write("c.csv", "a," + "b" * 200_000))[0].target) == 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('a,b\n"open,b\nc,d\n', "a.csv:2: not CSV"),
        ('a,b\n"x"y,b\n', "a.csv:2: not CSV"),
        ("a,b\nc\n", "a.csv:2: 1 field; expected 2 (source, target)"),
        ('a,b\n"x\ny",z\n1,2,3\n', "a.csv:4: 3 fields; expected 2 (source, target); remove the extra comma"),
    ],
)
def test_broken_csv(data: str, message: str) -> None:
    assert message in said(write("a.csv", data))


def test_json_lines() -> None:
    rows = [{"source": "a", "target": "b"}, {"source": "\u00e9", "target": "d", "more": 1}]
    path = write("a.jsonl.gz", "\n".join(map(json.dumps, rows)))
    assert read(path) == [Example(("a",), "b", f"{path}:1"), Example(("é",), "d", f"{path}:2")]
    nested = write("a.json", '{"translation": {"de": "x", "en": "y"}, "a.b": "c"}\n')
    assert read(nested, fields=("translation.de", "translation.en")) == [Example(("x",), "y", "a.json:1")]
    assert read(nested, fields=("a.b", "translation.en"))[0].source == "c"
    assert read(write("b.jsonl", '{"source": "a"}'), columns=1)[0] == Example(("a",), "", "b.jsonl:1")


def test_numbers_of_json_lines() -> None:
    """Scores are numbers, and classes may be."""
    path = write("a.jsonl", "\n".join(f'{{"text": "a", "label": {label}}}' for label in ("4.5", "3", "0", "true")))
    assert [example.target for example in read(path, fields=("text", "label"))] == ["4.5", "3", "0", "true"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "a"', "a.jsonl:2: not JSON"),
        ('["a", "b"]', "a.jsonl:2: a JSON list; expected one object per line"),
        ('{"source": ["a"], "target": "b"}', "a.jsonl:2: 'source' is ['a']; expected a string or a number"),
        ('{"source": "a", "target": ["b", 3]}', "'target' is ['b', 3]; expected a string, a number or a list of str"),
        ('{"source": "a", "target": []}', "a.jsonl:2: 'target' is []; expected a string, a number or a list of str"),
        ('{"source": "a", "target": ["b", "\\ud83d"]}', "a.jsonl:2: 'target' contains an unpaired surrogate"),
        ('{"source": "a", "target": 1' + "0" * 5_000 + "}", "a.jsonl:2: not JSON"),
        ('{"source": "a", "target": null}', "a.jsonl:2: 'target' is null"),
        ('{"source": "a", "targets": "b"}', "a.jsonl:2: no field 'target'; did you mean 'targets'?"),
        ('{"source": "a", "target": "\\ud83d"}', "a.jsonl:2: 'target' contains an unpaired surrogate"),
        ("[" * 100_000, "a.jsonl:2: not JSON"),
    ],
)
def test_broken_json_lines(line: str, message: str) -> None:
    good = '{"source": "a", "target": "b"}'
    assert message in said(write("a.jsonl", f"{good}\n{line}\n{good}\n"))


def test_inputs_of_json_lines_have_to_be_named() -> None:
    assert "data.source=" in said(write("a.jsonl", "{}"), columns=3)


def test_parallel() -> None:
    examples = read_parallel(
        (write("a.de", "eins\n\nzwei\r\n"), write("a.fr", "un\n\n\n"), write("a.en.gz", "one\ntwo\n\n"))
    )
    assert examples == [
        Example(("eins", "un"), "one", "a.de:1"),
        Example(("", ""), "two", "a.de:2"),
        Example(("zwei", ""), "", "a.de:3"),
    ]


def test_parallel_files_of_different_length() -> None:
    with pytest.raises(RegardError, match=r"a\.de has 3 lines, a\.en has 2 lines; expected the same number"):
        read_parallel((write("a.de", "1\n2\n3\n"), write("a.en", "1\n2\n")))
    assert len(read_parallel((write("b.de", "1\n2\n\n\n"), write("b.en", "1\n2\n")))) == 2
    with pytest.raises(RegardError, match="only blank"):
        read_parallel((write("c.de", "\n\n"), write("c.en", "\n")))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "a\n\nb\n \n"),
        ("a.tsv", "\na\tx\n\n  \nb\tx\n"),
        ("a.csv", 'a,x\n\n\n"b",x'),
        ("a.jsonl", '{"source": "a", "target": "x"}\n\n\n{"source": "b", "target": "x"}'),
        ("a.train", "x a\n\nx b\n\n"),
    ],
)
def test_blank_lines_are_skipped_and_counted(name: str, text: str) -> None:
    notes: list[str] = []
    form: Form = "labelled" if name == "a.train" else "auto"
    examples = read(write(name, text), 1 if name == "a.txt" else 2, form=form, notes=notes)
    assert [example.source for example in examples] == ["a", "b"]
    count, first = (3, 1) if name == "a.tsv" else (2, 2)
    assert notes == [f"{name}: skipped {count} blank lines (the first is line {first})"]


def test_a_blank_line_within_quotes_is_text() -> None:
    assert read(write("a.csv", 'a,"b\n\nc"\n'))[0].target == "b\n\nc"


cells = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), max_size=8)


@given(st.lists(st.tuples(cells, cells), min_size=1))
def test_what_was_written_is_read(rows: list[tuple[str, str]]) -> None:
    rows = [*rows, ("last", "one")]  # so that no blank rows stand at the end
    first = sorted(cell.replace("-", " ").replace("_", " ").strip() for cell in rows[0])
    assume(first not in (["", "0"], ["0", "1"]))  # which is how pandas names columns
    write("h.tsv", "\ufeff" + "".join(f"{a}\t{b}\n" for a, b in rows))
    with open("h.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    write("h.jsonl", "\n".join(json.dumps({"source": a, "target": b}) for a, b in rows))
    for name in ("h.tsv", "h.csv", "h.jsonl"):
        assert [(e.source, e.target) for e in read(name)] == rows


def test_a_list_of_targets_is_several_references() -> None:
    lines = ['{"source": "a", "target": ["b", "c", "b"]}', '{"source": "d", "target": "e"}']
    first, second = read(write("a.jsonl", "\n".join(lines)))
    assert (first.target, first.references) == ("b", ("b", "c"))
    assert second == Example(("d",), "e", "a.jsonl:2")
