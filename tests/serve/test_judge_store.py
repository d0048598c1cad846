"""The file of judgements: kept at once, changed without loss, right under many hands, of one set of files."""

import os
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.serve.judge_sheet import Sheet, read_sheet
from regard.serve.judge_store import begin, existing


def rows(path: Path) -> list[tuple[int, int]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("SELECT system, value FROM mark ORDER BY number").fetchall()
    finally:
        connection.close()


def test_the_latest_counts_and_the_earlier_stays(sheet: Sheet, tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with begin(path, sheet) as store:
        for value in (4, 4, 2, 5):
            store.keep("ana", 1, [0], "fluency", value)
        store.keep("ana", 1, [0], "adequacy", 1)
        store.keep("ben", 1, [0, 2], "fluency", 3)
        assert store.marks("ana", 1) == {(0, "fluency"): 5, (0, "adequacy"): 1}
        assert store.marks("ben", 1) == {(0, "fluency"): 3, (2, "fluency"): 3}
        assert store.marks("ana", 2) == {}
        assert (store.given("ana"), store.given("ben"), store.given("cid")) == ({1: 2}, {1: 2}, {})
        assert store.total() == 4
    assert rows(path) == [(0, 4), (0, 2), (0, 5), (0, 1), (0, 3), (2, 3)]
    with begin(path, sheet) as store:
        assert store.marks("ana", 1)[0, "fluency"] == 5
        assert len(store.latest()) == 4


def test_the_order_shown_first_stays(sheet: Sheet, tmp_path: Path) -> None:
    with begin(tmp_path / "j.sqlite", sheet) as store:
        assert store.show("ana", 2, [[1], [0], [2]]) == [[1], [0], [2]]
        assert store.show("ana", 2, [[0], [1], [2]]) == [[1], [0], [2]]
        assert store.show("ben", 2, [[0], [1], [2]]) == [[0], [1], [2]]
        assert store.groups() == {2: [[0], [1], [2]]}


def test_a_closed_file_is_one_plain_file(sheet: Sheet, tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%.sqlite"  # no name is read as a part of an address
    with begin(path, sheet) as store:
        store.keep("ana", 1, [0], "fluency", 4)
        assert store.read("PRAGMA journal_mode") == [("wal",)]
        assert store.read("PRAGMA synchronous") == [(2,)]
        with begin(path, sheet) as other:
            other.keep("ben", 1, [0], "fluency", 4)
        assert store.total() == 2
    assert [p.name for p in tmp_path.glob("*.sqlite*")] == [path.name]
    assert path.read_bytes()[18:20] == b"\x01\x01"  # in its head: not one that wants further files beside it
    path.chmod(0o400)
    with existing(path) as store:
        assert store.total() == 2


def test_many_hands(sheet: Sheet, tmp_path: Path) -> None:
    """Two tabs of two processes, each mark clicked twice: all there, none twice."""
    path = tmp_path / "j.sqlite"
    marks = [("ana", line, [system], "fluency", 1 + line % 5) for line in range(1, 26) for system in range(3)]
    with begin(path, sheet) as one, begin(path, sheet) as two, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda call: call[0].keep(*call[1]), [(store, mark) for mark in marks for store in (one, two)]))
        orders = list(pool.map(lambda n: (one, two)[n % 2].show("ana", 1, [[n], [99]]), range(20)))
    assert sorted(rows(path)) == sorted((mark[2][0], mark[4]) for mark in marks)
    assert all(order == orders[0] for order in orders)


def test_a_kill_loses_nothing_kept(folder: Path, sheet: Sheet) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from regard.serve.judge_sheet import read_sheet
from regard.serve.judge_store import begin
os.chdir(sys.argv[1])
store = begin(Path("j.sqlite"), read_sheet(["alpha.txt", "beta.txt", "gamma.txt"], "source.txt"))
for line in range(1, 5):
    store.keep("ana", line, [0, 1], "adequacy", line)
store._connection.execute("BEGIN IMMEDIATE")
store._connection.execute("UPDATE mark SET value = 1")
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code, str(folder)], timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    with begin(folder / "j.sqlite", sheet) as store:
        assert [mark.value for mark in store.latest()] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_all_or_nothing(sheet: Sheet, tmp_path: Path) -> None:
    with begin(tmp_path / "j.sqlite", sheet) as store:
        with pytest.raises(sqlite3.IntegrityError):
            store.keep("ana", 1, [0], "fluency", 10)
        with pytest.raises(sqlite3.IntegrityError):
            store.keep("ana", 1, [0, 7], "fluency", 3)  # there is no system 7, so 0 gets nothing either
        assert store.total() == 0
        store.keep("ana", 1, [0], "fluency", 3)
        assert store.total() == 1


def test_seed_and_count(sheet: Sheet, tmp_path: Path) -> None:
    path = tmp_path / "j.sqlite"
    with begin(path, sheet, seed=7, count=2) as store:
        assert (store.facts()["seed"], store.facts()["count"], store.facts()["lines"]) == ("7", "2", "4")
    with begin(path, sheet) as store:
        assert (store.facts()["seed"], store.facts()["count"]) == ("7", "2")
    with begin(path, sheet, seed=7, count=30) as store:
        assert store.facts()["count"] == "4"
    with pytest.raises(RegardError, match="started with seed 7, not 8; remove --seed"):
        begin(path, sheet, seed=8)


def test_of_one_set_of_files(folder: Path, sheet: Sheet) -> None:
    path = folder / "j.sqlite"
    with begin(path, sheet) as store:
        store.keep("ana", 1, [0], "fluency", 4)
    before = path.read_bytes()
    outputs = [str(folder / f"{name}.txt") for name in ("alpha", "beta", "gamma")]
    source, reference = str(folder / "source.txt"), str(folder / "reference.txt")
    told = r"contains judgements of other files \({} differs\); use the files"
    for other, what in (
        (read_sheet(outputs, reference), "source"),
        (read_sheet(outputs, source, reference), "reference"),
        (read_sheet(outputs[:2], source), "outputs"),
    ):
        with pytest.raises(RegardError, match=told.format(what)):
            begin(path, other, count=1)
    assert path.read_bytes() == before
    (folder / "delta.txt").write_bytes((folder / "alpha.txt").read_bytes())  # a name is not what was judged
    with begin(path, read_sheet([str(folder / "delta.txt"), *outputs[1:]], source)) as store:
        assert sorted(store.names()) == ["alpha", "beta", "gamma"]


def test_what_is_not_ours_is_left_alone(sheet: Sheet, tmp_path: Path) -> None:
    text, other, later = tmp_path / "text.sqlite", tmp_path / "other.sqlite", tmp_path / "later.sqlite"
    text.write_text("not a database, though long enough to be one " * 100)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()
    begin(later, sheet).close()
    connection = sqlite3.connect(later)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = {path: path.read_bytes() for path in (text, other, later)}
    for open_ in (lambda path: begin(path, sheet), existing):
        for path, what in (
            (text, "not a file of judgements"),
            (other, "database of another program"),
            (later, "file format 99"),
            (tmp_path / "no" / "j.sqlite", "unable to open|no such file"),
            (tmp_path, "unable to open|no such file"),
        ):
            with pytest.raises(RegardError, match=what):
                open_(path)
    assert {path: path.read_bytes() for path in before} == before
    with pytest.raises(RegardError, match="no such file"):
        existing(tmp_path / "none.sqlite")
    assert not (tmp_path / "none.sqlite").exists()


def test_a_file_made_empty_is_begun(sheet: Sheet, tmp_path: Path) -> None:
    """As after a kill between its making and its first transaction."""
    path = tmp_path / "j.sqlite"
    path.touch()
    with pytest.raises(RegardError, match="empty"):
        existing(path)
    with begin(path, sheet) as store:
        assert store.total() == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_ours(sheet: Sheet, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RegardError, match="unable to open"):
        begin(tmp_path / "j.sqlite", sheet)


def test_what_is_asked_often_is_looked_up(sheet: Sheet, tmp_path: Path) -> None:
    with begin(tmp_path / "j.sqlite", sheet) as store:
        plan = store.read("EXPLAIN QUERY PLAN SELECT value FROM latest WHERE judge = 'a' AND line = 1")
        assert any("SEARCH mark USING" in str(step) and "judge=? AND line=?" in str(step) for step in plan), plan
