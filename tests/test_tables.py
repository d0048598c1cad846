"""Figures are recorded whole and without the machine's name; tables are made from them and never stale."""

import ast
import importlib
import importlib.util
import json
import re
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

root = Path(__file__).resolve().parent.parent


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", root / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tables, record = script("tables"), script("record")
Column, Table = tables.Column, tables.Table


def results() -> dict[str, Any]:
    return {
        "speed-b": {"figures": {"name": "b", "ms": {"fast": 2.0}}, "date": "2026-02-01"},
        "speed-a": {"figures": {"name": "a|z", "ms": {"fast": 0.514, "slow": 0}}, "date": "2026-01-01"},
        "other": {"figures": {"cases": [{"length": 8, "ms": 1.5}, {"length": 16, "ms": 3.0}], "batch": 4}},
    }


speed = Table(
    "speed-*",
    (
        Column("name", "name"),
        Column("fast", "ms.fast", "{:.2f} ms"),
        Column("slow", "ms.slow", "{:.1f}"),
        Column("day", ".date"),
    ),
)
speed_table = r"""
| name | fast | slow | day |
| --- | --- | --- | --- |
| a\|z | 0.51 ms | 0.0 | 2026-01-01 |
| b | 2.00 ms | – | 2026-02-01 |
""".strip()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small repository with one table in a page of its docs and a record of results."""
    monkeypatch.setattr(tables, "tables", {"speed": speed})
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "README.md").write_text("nothing here\n")
    (tmp_path / "docs" / "deep" / "speed.md").write_text("a\n<!-- table: speed -->\nold\n<!-- end -->\nz\n")
    folder = tmp_path / "benchmarks" / "results"
    folder.mkdir(parents=True)
    for name, content in results().items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return tmp_path


def test_the_tables_of_this_repository_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert tables.main(["--check"]) == 0, capsys.readouterr().out


def test_one_row_a_file_in_order_of_name() -> None:
    assert speed(results()) == speed_table


def test_one_row_an_item() -> None:
    made = Table("other", (Column("n", "length"), Column("ms", "ms", "{:g}"), Column("batch", "batch")), each="cases")
    assert made(results()).splitlines()[2:] == ["| 8 | 1.5 | 4 |", "| 16 | 3 | 4 |"]


@pytest.mark.parametrize("table", [Table("speed-*", (Column("x", "ms.fsat"),)), Table("sped-*", (Column("x", "ms"),))])
def test_a_path_that_leads_nowhere_is_a_slip(table: Any) -> None:
    with pytest.raises(SystemExit, match="none has"):
        table(results())


def test_check_tells_and_changes_nothing_then_a_run_mends(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = house / "docs" / "deep" / "speed.md"
    before = page.read_text()
    assert tables.main(["--check"], at=house) == 1
    assert "docs/deep/speed.md: out of date" in capsys.readouterr().out
    assert page.read_text() == before
    assert tables.main([], at=house) == 0
    assert page.read_text() == f"a\n<!-- table: speed -->\n{speed_table}\n<!-- end -->\nz\n"
    assert tables.main(["--check"], at=house) == 0
    assert sorted(p.name for p in house.rglob("*.md*")) == ["README.md", "speed.md"]


def test_a_figure_changed_by_hand_is_seen(house: Path) -> None:
    tables.main([], at=house)
    page = house / "docs" / "deep" / "speed.md"
    page.write_text(page.read_text().replace("0.51", "0.15"))
    assert tables.main(["--check"], at=house) == 1


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("<!-- table: sped -->\n<!-- end -->\n", "no table is named 'sped'; known: speed"),
        ("<!-- table: speed -->\nno end", "lacks its closing line"),
        ("<!-- table: speed -->\n<!-- table: speed -->\n<!-- end -->\n", "lacks its closing line"),
    ],
)
@pytest.mark.usefixtures("house")
def test_broken_markers(page: str, complaint: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(complaint)):
        tables.fill(page, results())


@pytest.mark.usefixtures("house")
def test_two_tables_in_a_page_and_an_empty_one() -> None:
    marked = "<!-- table: speed -->\n<!-- end -->\n"
    filled = f"<!-- table: speed -->\n{speed_table}\n<!-- end -->\n"
    assert tables.fill(marked + "between\n" + marked, results()) == filled + "between\n" + filled


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Results go to a folder of this test."""
    monkeypatch.setattr(record, "results", tmp_path / "results")
    return tmp_path / "results"


def test_a_record_holds_what_is_needed_to_measure_again(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(root / "benchmarks" / "speed.py"), "--out=/somewhere/else/x.bin", "a b"])
    path = record.record("speed-1", {"ms": 1.5, "größe": [1, 2]})
    assert path == kept / "speed-1.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["name"] == "speed-1"
    assert content["figures"] == {"ms": 1.5, "größe": [1, 2]}
    assert content["command"] == "python benchmarks/speed.py --out=x.bin 'a b'"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", content["date"])
    assert set(content["versions"]) >= {"python", "torch", "regard"}
    assert content["hardware"]["cores"] >= 1
    assert content["hardware"]["memory_gib"] > 0
    assert set(content) == {"name", "figures", "command", "commit", "dirty", "date", "hardware", "versions"}
    assert tables.load(kept)["speed-1"] == content


def test_a_script_run_from_its_own_folder_is_known_by_its_place(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root / "benchmarks")
    monkeypatch.setattr(sys, "argv", ["./speed.py", "--steps", "3"])
    content = json.loads(record.record("speed", {}).read_text())
    assert content["command"] == "python benchmarks/speed.py --steps 3"


def test_a_record_names_neither_the_machine_nor_a_place_on_it(kept: Path) -> None:
    text = record.record(
        "speed", {}, command=f"python {root}/benchmarks/speed.py --data {Path.home()}/data"
    ).read_text()
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', text)
    assert str(root) not in text
    assert socket.gethostname() not in strings
    assert not [word for string in strings for word in string.split() if word.startswith("/")]
    assert "python benchmarks/speed.py --data data" in strings


def test_the_commit_is_the_repositorys_or_the_one_named(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_git", lambda *words: "abc" if words[0] == "rev-parse" else "")
    assert record._commit() == {"commit": "abc", "dirty": False}
    monkeypatch.setattr(record, "_git", lambda *words: "abc" if words[0] == "rev-parse" else " M src/x.py")
    assert record._commit() == {"commit": "abc", "dirty": True}
    monkeypatch.setattr(record, "_git", lambda *words: None)
    monkeypatch.setenv("REGARD_COMMIT", "def")
    assert record._commit() == {"commit": "def", "dirty": None}


def test_written_whole_or_not_at_all(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record.record("speed", {"ms": 1})
    with pytest.raises(ValueError, match="JSON compliant"):
        record.record("speed", {"ms": float("nan")})

    def fail(*_: Any) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no room"):
        record.record("speed", {"ms": 2})
    assert [p.name for p in kept.iterdir()] == ["speed.json"]
    assert json.loads((kept / "speed.json").read_text())["figures"] == {"ms": 1}


@pytest.mark.parametrize("name", ["../speed", "a/b", "", ".hidden", "/etc/x"])
def test_a_name_stays_in_its_folder(kept: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        record.record(name, {})
    assert not kept.exists()


def test_benchmarks_import_what_there_is() -> None:
    """They are run seldom, some on a GPU alone: a name that is gone shows here."""
    missing = []
    for path in sorted((root / "benchmarks").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "regard":
                module = importlib.import_module(node.module or "")
                names = [one.name for one in node.names if not hasattr(module, one.name)]
                inside = hasattr(module, "__path__")
                gone = [n for n in names if not (inside and importlib.util.find_spec(f"{node.module}.{n}"))]
                missing += [f"{path.name}: {node.module} has no {name}" for name in gone]
    assert not missing


def test_a_row_is_found_by_its_name_or_its_number() -> None:
    tree = {"rows": [{"name": "a", "x": 1}, {"name": "b", "x": 2}, {"x": 3}]}
    assert [tables._at(tree, f"rows.{key}.x") for key in ("a", "b", "2", "c", "9")] == [1, 2, 3, None, None]
