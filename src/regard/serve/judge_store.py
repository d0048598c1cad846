"""Judgements in one SQLite file: each is a row and a transaction; nothing is overwritten, the latest counts.

    fact     what was judged (digests of the files, which are not copied), the seed, how many lines
    system   number, name
    shown    the order in which a judge saw the outputs of a line, drawn once; those that are the same stand together
    mark     who gave what to whom, for which question, when; of a mark given anew the earlier one stays as history

A mark of 1 to 5 answers "adequacy" and "fluency"; "place" ranks the outputs of a line, 1 the best, ties allowed.

    with begin("judgements.sqlite", sheet) as store:
        store.keep("ana", 1, [0], "fluency", 4)
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple, get_args
from urllib.parse import quote

from regard.errors import RegardError
from regard.serve.judge_sheet import Sheet

__all__ = ["Latest", "Question", "Store", "begin", "existing", "questions"]

Question = Literal["adequacy", "fluency", "place"]
questions: tuple[Question, ...] = get_args(Question)

application = 0x5247_4A44  # "RGJD", in the head of the file: whose it is
form = 1  # of the tables
patience = 10.0  # seconds for another process to end its transaction
tables = (
    "CREATE TABLE fact (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE system (number INTEGER PRIMARY KEY, name TEXT NOT NULL)",
    "CREATE TABLE shown (judge TEXT, line INTEGER, outputs TEXT NOT NULL, PRIMARY KEY (judge, line))",
    """CREATE TABLE mark (
        number INTEGER PRIMARY KEY AUTOINCREMENT, judge TEXT NOT NULL, line INTEGER NOT NULL,
        system INTEGER NOT NULL REFERENCES system, question TEXT NOT NULL,
        value INTEGER NOT NULL CHECK (value BETWEEN 1 AND 9), given TEXT NOT NULL)""",
    "CREATE INDEX mark_of ON mark (judge, line, system, question, number, value)",
    """CREATE VIEW latest AS SELECT judge, line, system, question, value, max(number) AS number
        FROM mark GROUP BY judge, line, system, question""",  # value is of the row with the largest number
)


class Latest(NamedTuple):
    judge: str
    line: int
    system: int
    question: str
    value: int


class Store:
    """An open file of judgements; threads may share it, and processes may each have their own of the same file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._connection, self._lock = path, connection, Lock()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave one plain file behind, that can be copied and read anywhere, unless others still have it open."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.execute("PRAGMA busy_timeout = 0")
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing; others wait from its begin, so what is read in it stays true to its end."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a disk that is full has ended it already
                    self._connection.execute("ROLLBACK")
                raise

    def read(self, query: str, *values: str | int) -> list[tuple[str | int, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def facts(self) -> dict[str, str]:
        return {str(name): str(value) for name, value in self.read("SELECT name, value FROM fact")}

    def names(self) -> list[str]:
        return [str(name) for (name,) in self.read("SELECT name FROM system ORDER BY number")]

    def show(self, judge: str, line: int, drawn: list[list[int]]) -> list[list[int]]:
        """The order in which the judge saw the line before; else the one drawn now, which is kept."""
        with self.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO shown VALUES (?, ?, ?)", (judge, line, json.dumps(drawn)))
            asked = connection.execute("SELECT outputs FROM shown WHERE judge = ? AND line = ?", (judge, line))
            groups: list[list[int]] = json.loads(asked.fetchone()[0])
            return groups

    def keep(self, judge: str, line: int, systems: Iterable[int], question: Question, value: int) -> None:
        """A mark for systems that wrote the same. One that already counts is not written again (a double click)."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        with self.transaction() as connection:
            for system in systems:
                of = (judge, line, system, question)
                query = "SELECT value FROM latest WHERE judge = ? AND line = ? AND system = ? AND question = ?"
                if connection.execute(query, of).fetchone() != (value,):
                    row = "INSERT INTO mark (judge, line, system, question, value, given) VALUES (?, ?, ?, ?, ?, ?)"
                    connection.execute(row, (*of, value, now))

    def marks(self, judge: str, line: int) -> dict[tuple[int, str], int]:
        """What counts of a judge's marks for a line, by system and question."""
        query = "SELECT system, question, value FROM latest WHERE judge = ? AND line = ?"
        return {(int(system), str(question)): int(value) for system, question, value in self.read(query, judge, line)}

    def given(self, judge: str) -> dict[int, int]:
        """How many marks count, by line."""
        query = "SELECT line, count(*) FROM latest WHERE judge = ? GROUP BY line"
        return {int(line): int(number) for line, number in self.read(query, judge)}

    def total(self) -> int:
        """How many marks count, of all judges."""
        return int(self.read("SELECT count(*) FROM latest")[0][0])

    def latest(self) -> list[Latest]:
        """All marks that count."""
        rows = self.read("SELECT judge, line, system, question, value FROM latest ORDER BY judge, line, system")
        return [Latest(str(j), int(line), int(s), str(q), int(v)) for j, line, s, q, v in rows]

    def groups(self) -> dict[int, list[list[int]]]:
        """By line, the systems that wrote the same."""
        rows = self.read("SELECT line, outputs FROM shown")
        return {int(line): sorted(json.loads(str(outputs))) for line, outputs in rows}


def begin(path: Path, sheet: Sheet, seed: int | None = None, count: int | None = None) -> Store:
    """Open a file of judgements of just this sheet, or make one. Seed and count, where not given, are as before."""
    with _opened(path, "rwc") as connection:
        store = Store(path, connection)
        with store.transaction():
            if _is_new(path, connection):
                _make(connection, sheet, seed or 0)
            facts = dict(connection.execute("SELECT name, value FROM fact"))
            for what, digest in sheet.digests.items():
                if facts[what] != digest:
                    do = "use the files it was started with, or another --out"
                    raise RegardError(f"{path}: contains judgements of other files ({what} differs)", do=do)
            if seed is not None and str(seed) != facts["seed"]:
                raise RegardError(f"{path}: started with seed {facts['seed']}, not {seed}", do="remove --seed")
            if count is not None:
                connection.execute("UPDATE fact SET value = ? WHERE name = 'count'", (min(count, len(sheet.source)),))
        # Others may read while one writes, and what is committed outlives even a loss of power.
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return store


def existing(path: Path) -> Store:
    """Open a file of judgements that is there."""
    if not path.is_file():
        raise RegardError(f"{path}: no such file", expected="a file written by regard judge")
    with _opened(path, "rw") as connection:
        if _is_new(path, connection):
            raise RegardError(f"{path}: empty", expected="a file written by regard judge")
        return Store(path, connection)


@contextmanager
def _opened(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection, closed again if what is done with it here fails; what SQLite complains of becomes one line."""
    connection = None
    try:
        place = f"file:{quote(str(path.absolute()))}?mode={mode}"
        # Without an isolation level the module begins no transactions of its own.
        connection = sqlite3.connect(place, patience, isolation_level=None, check_same_thread=False, uri=True)
        yield connection
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error):
            broken = type(error) is sqlite3.DatabaseError  # the class for what is no database, or a damaged one
            why = "not a file of judgements, or a damaged one" if broken else str(error)
            raise RegardError(f"{path}: {why}", do="check the file and its folder, or use another") from None
        raise


def _is_new(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether nothing is in it yet; a file that is not ours, or of another form, is left as it is."""
    (owner,), (version,), (parts,) = (
        connection.execute(query).fetchone()
        for query in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
    )
    if not owner and not parts:
        return True
    if owner != application:
        raise RegardError(
            f"{path}: database of another program", expected="a file of judgements", do="use another file"
        )
    if version != form:
        raise RegardError(f"{path}: file format {version}", expected=f"format {form}", do="use another file")
    return False


def _make(connection: sqlite3.Connection, sheet: Sheet, seed: int) -> None:
    for table in tables:
        connection.execute(table)
    lines = len(sheet.source)
    facts: dict[str, str | int] = {**sheet.digests, "seed": seed, "count": lines, "lines": lines}
    connection.executemany("INSERT INTO fact VALUES (?, ?)", [(name, str(value)) for name, value in facts.items()])
    connection.executemany("INSERT INTO system VALUES (?, ?)", enumerate(sheet.names))
    connection.execute(f"PRAGMA application_id = {application}")
    connection.execute(f"PRAGMA user_version = {form}")
