"""Histories: users, items and times, read as one list per user; the last items are held out.

A file has a line for each time that a user had an item: user, item and time, or user, item, rating and time as in
MovieLens. It may be TSV, CSV, separated by `::` as ratings.dat, or JSON lines, with a header or without one; or a
folder that holds `u.data`, `ratings.dat` or `ratings.csv`. `data.user=`, `data.item=` and `data.time=` name the columns
where they are unusual.

- A rating counts as having had the item, whatever its value (implicit feedback).
- Times are seconds, or any other number that grows, or ISO dates. What has the same time keeps the order of the file.
  Without times the order of the file counts.
- Leave-one-out: the last item of each user is for the test, the one before it for validation, all others for training.

An example is a user's items up to some time, and the next one.

    splits = read_histories("u.data", History())
    splits.test[0]        # Example(("168 172 165 …",), "74", "u.data:62821", user="1")
"""

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import islice, pairwise
from pathlib import Path
from time import time as now
from typing import ClassVar

from regard.data import separator
from regard.data.given import Given, given_examples, is_given
from regard.data.header import find
from regard.data.json_rows import json_rows
from regard.data.lines import TextFile
from regard.data.read import Form, Reading, form_of, read
from regard.data.readlog import ReadLog
from regard.data.splits import Splits
from regard.errors import RegardError, brief, counted
from regard.fields import Field, Where, inputs_of
from regard.fields.history import History
from regard.types import Example

__all__ = ["COLUMNS", "by_user", "columns_of", "read_histories", "whole_histories"]

COLUMNS = 3  # user, item, time
FILES = ("u.data", "ratings.dat", "ratings.csv", "ratings.tsv", "ratings.jsonl")  # of a folder, the first that is there
FEW = 12  # different values that a column of ratings has, at most
SAMPLE = 100  # lines that are looked at to find out how a file is written
DAY = 86_400.0
# Powers of ten by which a time is divided to give seconds, by its size: milliseconds, microseconds, nanoseconds.
UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1.0))


class Column(Field):
    """A column of a file of interactions."""

    def encode(self, values: Sequence[str], where: Where, role: str = "value") -> list[str]:
        return list(values)

    def collate(self, rows: Sequence[str]) -> None:  # type: ignore[override]
        """Columns are read, never batched."""


class User(Column):
    kind: ClassVar[str] = "user"
    headers: ClassVar[tuple[str, ...]] = (
        *("user", "user_id", "userid", "uid", "reviewerid", "reviewer_id", "customer", "customer_id", "customerid"),
        *("visitor", "visitor_id", "visitorid", "member", "member_id", "account", "account_id", "session"),
        *("session_id", "sessionid", "username"),
    )


class ItemId(Column):
    kind: ClassVar[str] = "item"
    headers: ClassVar[tuple[str, ...]] = (
        *("item", "item_id", "itemid", "iid", "movie", "movie_id", "movieid", "product", "product_id", "productid"),
        *("asin", "parent_asin", "sku", "article", "article_id", "book", "book_id", "isbn", "song", "song_id", "track"),
        *("track_id", "artist", "artist_id", "artistid", "business_id", "game", "page", "url"),
    )


class Time(Column):
    kind: ClassVar[str] = "time"
    headers: ClassVar[tuple[str, ...]] = (
        *("time", "timestamp", "ts", "date", "datetime", "unixreviewtime", "unix_review_time", "event_time"),
        *("created_at", "created", "when", "day"),
    )


WITH_TIME: tuple[Field, ...] = (User(), ItemId(), Time())


@dataclass(frozen=True)
class Had:
    """One line: when a user had an item, where it was read."""

    time: float
    item: str
    where: str


def by_user(fields: Sequence[Field]) -> bool:
    """Whether an input is made of all lines of a user."""
    return any(field.per_user for field in inputs_of(fields))


def columns_of(fields: Sequence[Field]) -> int:
    """How many columns a file has for these fields."""
    return COLUMNS if by_user(fields) else len(fields)


def read_histories(
    spec: str,
    field: History,
    valid: str = "",
    test: str = "",
    how: Reading | None = None,
    log: ReadLog | None = None,
) -> Splits:
    """The splits. Where a file for validation or test is given, the histories in `spec` are all for training, and of
    the users of that file the last item of each is asked for."""
    how, log = how or Reading(), log or ReadLog()
    users = _users(spec, field, how, log)
    if valid or test:
        others = [whole_histories(one, field, how, log) if one else [] for one in (valid, test)]
        return Splits([_example(user, had, len(had) - 1) for user, had in users.items()], *others)
    log.decide(
        "leave-one-out: the last item of each user is for the test, the one before it for validation "
        f"({counted(len(users), 'user')})"
    )
    parts = ([_example(user, had, len(had) - back) for user, had in users.items()] for back in (3, 2, 1))
    return Splits(*parts)


def whole_histories(spec: str, field: History, how: Reading | None = None, log: ReadLog | None = None) -> list[Example]:
    """The last item of each user in some data, with all before it as history."""
    users = _users(spec, field, how or Reading(), log or ReadLog(), fewest=2, alone=True)
    return [_example(user, had, len(had) - 1) for user, had in users.items()]


def _example(user: str, had: Sequence[Had], place: int) -> Example:
    """The item at a place, after those before it."""
    return Example((" ".join(one.item for one in had[:place]),), had[place].item, had[place].where, user=user)


# --- histories ---------------------------------------------------------------------------------------------------


def _users(
    spec: str, field: History, how: Reading, log: ReadLog, fewest: int = 0, alone: bool = False
) -> dict[str, list[Had]]:
    """The items of each user in the order of time."""
    path, fewest = _file(spec), fewest or field.min_length
    users: dict[str, list[Had]] = {}
    clock = _Clock(path, log)
    for user, had in _lines(path, how, log, clock):
        users.setdefault(user, []).append(had)
    if not users:
        raise log.nothing(path, "no line with a user and an item")
    clock.tell()
    together = repeated = 0
    for user, some in users.items():
        some.sort(key=lambda one: one.time)
        if clock.dated:
            together += sum(a.time == b.time for a, b in pairwise(some))
        if not field.repeats:
            first = {one.item: one for one in reversed(some)}
            users[user] = [one for one in some if first[one.item] is one]
            repeated += len(some) - len(first)
    if together:
        log.decide(
            f"{path}: {counted(together, 'line')} with the time of an earlier line of the same user, kept in order"
        )
    if repeated:
        log.decide(
            f"{path}: {counted(repeated, 'repeated line')} of a user and an item, counted once, at their first time; "
            "history.repeats=true keeps them"
        )
    kept = {user: some for user, some in users.items() if len(some) >= fewest}
    if len(kept) < len(users):
        said = f"{len(users) - len(kept):,} of {counted(len(users), 'user')} with fewer than {fewest} items"
        log.decide(f"{path}: {said} left out")
    if not kept:
        raise RegardError(f"{path}: no user has {fewest} items", expected=f"users with at least {fewest} items each")
    if len(kept) == 1 and not alone:
        raise RegardError(
            f"{path}: one user with at least {fewest} items",
            expected="two or more, since a recommendation is learned from what users have in common",
        )
    return kept


def _file(spec: str) -> str:
    """The file of a folder that has the interactions."""
    if not is_given(spec) and os.path.isdir(os.path.expanduser(spec)):
        place = Path(os.path.expanduser(spec))
        if found := next((name for name in FILES if (place / name).is_file()), None):
            return str(place / found)
        raise RegardError(f"{spec}: no {', '.join(FILES)}", do="give the file itself")
    return spec


def _lines(path: str, how: Reading, log: ReadLog, clock: "_Clock") -> Iterator[tuple[str, Had]]:
    """Each line with a user and an item."""
    spaces = 0
    rows, dated = _rows(path, how, log)
    for order, example in enumerate(rows):
        user, item = (one.strip() for one in (example.inputs if dated else (example.source, example.target)))
        if not user or not item:
            log.bad("empty", example.where, f"an empty {'item' if user else 'user'}", "at least one character",
                    "fill it or remove the line")  # fmt: skip
            continue
        if item.split() != [item]:  # ids are written with spaces between
            item, spaces = "_".join(item.split()), spaces + 1
        time = clock(example.target, example.where) if dated else float(order)
        if time is not None:
            yield user, Had(time, item, example.where)
    if spaces:
        log.decide(f"{path}: {counted(spaces, 'item')} with spaces in the id, read with _ in their place")


class _Clock:
    """Times as numbers. All of a file are of one kind; those that lie in the future are counted."""

    def __init__(self, path: str, log: ReadLog) -> None:
        self.path, self.log = path, log
        self.now, self.dated, self.numbers = now() + DAY, False, True
        self.future, self.latest, self.where = 0, 0.0, ""

    def __call__(self, text: str, where: str) -> float | None:
        """None for what is no time."""
        number = _number(text)
        time = _date(text) if number is None else number
        if time is None:
            self.log.bad("value", where, f"time {brief(text, 40)}", "a number, such as seconds since 1970, or a date "
                         "such as 2024-05-31 18:00", "correct or remove the line")  # fmt: skip
            return None
        if self.dated and (number is not None) != self.numbers:
            one, other = ("a date", "numbers") if self.numbers else ("a number", "dates")
            self.log.bad("value", where, f"{one} where the lines before have {other}", "times of one kind")
            return None
        self.dated, self.numbers = True, number is not None
        seconds = time / next((unit for least, unit in UNITS if time >= least), math.inf) if self.numbers else time
        if seconds > self.now:
            self.where = self.where or where
            self.future, self.latest = self.future + 1, max(self.latest, seconds)
        return time

    def tell(self) -> None:
        if self.future:
            day = datetime.fromtimestamp(min(self.latest, 2e11), UTC).date()
            self.log.decide(
                f"{self.path}: {counted(self.future, 'line')} with a time in the future (first {self.where}, up to "
                f"{day}); they count as the latest, so check the clock or the unit"
            )


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _date(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


# --- files -------------------------------------------------------------------------------------------------------


def _rows(path: str, how: Reading, log: ReadLog) -> tuple[list[Example], bool]:
    """The columns of each line, and whether the last of them is a time."""
    if is_given(path):
        return _given(path, how, log)
    known, dated = _known(path, how, log)
    return read(path, WITH_TIME if dated else WITH_TIME[:2], known, log), dated


def _given(path: str, how: Reading, log: ReadLog) -> tuple[list[Example], bool]:
    """Rows given in Python: (user, item), (user, item, time), (user, item, rating, time), or mappings."""
    spec, dated = path, True
    if isinstance(path, Given):
        first = path.rows[0]
        if isinstance(first, dict):
            names = _named(list(map(str, first)), how, "the rows")
            how, dated = replace(how, names=names), len(names) == COLUMNS
        elif isinstance(first, tuple | list) and len(first) in (2, 4):
            dated = len(first) == 4
            pick = (0, 1, 3) if dated else (0, 1)
            rows = [tuple(row[place] for place in pick) if len(row) == len(first) else row for row in path.rows]
            spec = Given(rows, path.classes, path.part)
        rows = [_without_dates(row) for row in (spec.rows if isinstance(spec, Given) else path.rows)]
        spec = Given(rows, path.classes, path.part)
    return given_examples(spec, WITH_TIME if dated else WITH_TIME[:2], how, log), dated


def _without_dates(row: object) -> object:
    """Dates as ISO text."""
    if isinstance(row, dict):
        return {key: one.isoformat() if isinstance(one, date) else one for key, one in row.items()}
    if isinstance(row, tuple | list):
        return tuple(one.isoformat() if isinstance(one, date) else one for one in row)
    return row


def _known(path: str, how: Reading, log: ReadLog) -> tuple[Reading, bool]:
    """How a file is written and which columns are meant, and whether there are times."""
    file = TextFile(path, how.encoding, ReadLog(skip=True))
    start = file.head.lstrip()[:1]
    form: Form = how.form if how.form != "auto" else form_of(path)
    if form in ("labelled", "conll"):
        raise RegardError(f"{path}: read as {form}", expected="a table or JSON lines of users, items and times")
    form = ("jsonl" if start in ("{", "[") else "tsv") if form == "auto" else form
    if form == "jsonl":
        first = next(json_rows(file, ReadLog(skip=True)), None)
        if first is None:
            raise RegardError(
                f"{path}: no JSON objects", expected='lines such as {"user": "ann", "item": "b17", "time": 5}'
            )
        names = _named(list(first[1]), how, f"{path}:{first[0]}")
        return replace(how, form=form, names=names), len(names) == COLUMNS
    lines = [line for line in islice(file.lines(), SAMPLE) if line]
    between = _between(lines, form, how)
    rows = [line.split(between) for line in lines] if len(between) > 1 else separator.rows(lines, between)
    how = replace(how, form=form, separator=between)
    if not rows:
        return how, True  # which says what is wrong
    return _table(path, rows, how, log)


def _between(lines: Sequence[str], form: str, how: Reading) -> str:
    if how.separator != "auto":
        return separator.named(how.separator)
    if lines and all("::" in line for line in lines):
        return "::"
    return separator.found(lines, form, 2)


def _table(path: str, rows: list[list[str]], how: Reading, log: ReadLog) -> tuple[Reading, bool]:
    """The columns of a table: by a header, or by what stands in them."""
    first, width = [cell.strip() for cell in rows[0]], len(rows[0])
    if how.numbers:
        return how, bool(how.names[-1])
    usual = bool(find(first, WITH_TIME[:2])) and len(set(first)) == width
    if any(how.names) or how.header is True or (how.header == "auto" and usual):
        names = _named(first, how, f"{path}:1")
        return replace(how, names=names, header=True), len(names) == COLUMNS
    if width < 2 or width > 4:
        raise RegardError(
            f"{path}:1: {counted(width, 'column')} without a header",
            expected="user, item, time, or user, item, rating, time",
            do="name the columns by number, for example data.user=1 data.item=2 data.time=5",
        )
    columns = {2: ("1", "2"), 3: ("1", "2", "3"), 4: ("1", "2", "4")}[width]
    if width == 3 and _are_ratings([row[2] for row in rows if len(row) == width]):
        columns = ("1", "2")
        log.decide(f"{path}: column 3 looks like a rating; without a time the order of the file counts")
    said = "user and item" if len(columns) == 2 else "user, item and time"
    log.decide(
        f"{path}: reading columns {', '.join(columns)} as {said} (data.user=, data.item=, data.time= name others)"
    )
    return replace(how, names=columns, header=False), len(columns) == COLUMNS


def _are_ratings(values: Sequence[str]) -> bool:
    """Whether a column holds a few small numbers, again and again."""
    numbers = {_number(value) for value in values}
    return (
        len(values) >= 2 * FEW
        and len(numbers) <= FEW
        and all(number is not None and 0 <= number <= 100 for number in numbers)
    )


def _named(there: list[str], how: Reading, where: str) -> tuple[str, ...]:
    """The names of the columns for user, item and, if there is one, time."""
    given = (*how.names, *[""] * (COLUMNS - len(how.names)))
    for columns in (COLUMNS, 2):
        wanted = given[:columns]
        if columns < COLUMNS and given[-1]:
            break
        if all(wanted):
            return wanted
        if found := find(
            [*there, *(name for name in wanted if name and name not in there)], WITH_TIME[:columns], (), wanted
        ):
            return tuple([*there, *(name for name in wanted if name and name not in there)][one] for one in found)
    listed = ", ".join(json.dumps(name, ensure_ascii=False)[1:-1] for name in there[:20])
    raise RegardError(
        f"{where}: columns {listed}", expected="a user, an item and a time",
        do="name them with data.user=, data.item= and data.time=",
    )  # fmt: skip
