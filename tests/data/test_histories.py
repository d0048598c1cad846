"""Histories: files of many forms, the order of time, leave-one-out, and what is told about odd data."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from regard.data import histories as module
from regard.data.given import rows_of
from regard.data.histories import read_histories, whole_histories
from regard.data.read import Reading, names_of
from regard.data.readlog import ReadLog
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields.history import History

# ann: e at 1, d at 2, c at 3, b at 4, a at 5; bob: a b c d at 1 to 4.
EVENTS = [("ann", "a", 5), ("bob", "a", 1), ("ann", "b", 4), ("bob", "b", 2), ("ann", "c", 3), ("bob", "c", 3),
          ("ann", "d", 2), ("bob", "d", 4), ("ann", "e", 1)]  # fmt: skip
EXPECTED = {
    "train": [("ann", "e d", "c"), ("bob", "a", "b")],
    "valid": [("ann", "e d c", "b"), ("bob", "a b", "c")],
    "test": [("ann", "e d c b", "a"), ("bob", "a b c", "d")],
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(splits: Splits) -> dict[str, list[tuple[str, str, str]]]:
    return {
        part: [(one.user, one.source, one.target) for one in getattr(splits, part)]
        for part in ("train", "valid", "test")
    }


def table(between: str, rows: list[Any] = EVENTS, header: str = "") -> str:
    return header + "".join(between.join(map(str, row)) + "\n" for row in rows)


RATED = [(user, item, 3 + len(item), time) for user, item, time in EVENTS]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("u.data", table("\t", RATED)),
        ("ratings.dat", table("::", RATED)),
        ("ratings.csv", table(",", RATED, "userId,movieId,rating,timestamp\n")),
        ("events.tsv", table("\t")),
        ("events.csv", "Time;User ID;Item\n" + "".join(f"{time};{user};{item}\n" for user, item, time in EVENTS)),
        ("events.jsonl", "".join(json.dumps({"user": u, "item": i, "time": t}) + "\n" for u, i, t in EVENTS)),
        ("amazon.json", json.dumps([{"reviewerID": u, "asin": i, "overall": 5, "unixReviewTime": t}
                                    for u, i, t in EVENTS])),
        ("dates.csv", "user,item,date\n" + "".join(f"{u},{i},2024-05-{t:02d} 08:00\n" for u, i, t in EVENTS)),
        ("ms.tsv", table("\t", [(u, i, 1_700_000_000_000 + t) for u, i, t in EVENTS])),
    ],
)  # fmt: skip
def test_files_of_many_forms(name: str, text: str) -> None:
    Path(name).write_text(text)
    splits = read_histories(name, History())
    assert told(splits) == EXPECTED
    assert splits.test[0].where.startswith(f"{name}:")


def test_a_folder_and_rows_of_python() -> None:
    Path("ml").mkdir()
    Path("ml/u.data").write_text(table("\t", RATED))
    assert told(read_histories("ml", History())) == EXPECTED
    with pytest.raises(RegardError, match=r"^\.: no u\.data, ratings\.dat.*; give the file itself"):
        read_histories(".", History())
    for rows in (EVENTS, RATED, [dict(zip(("user", "item", "time"), row, strict=True)) for row in EVENTS],
                 [(u, i, datetime(2024, 5, t, tzinfo=UTC)) for u, i, t in EVENTS]):  # fmt: skip
        assert told(read_histories(rows_of(rows), History())) == EXPECTED


def test_without_times_the_order_of_the_file_counts() -> None:
    Path("e.csv").write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i, _ in EVENTS))
    [ann, bob] = read_histories("e.csv", History()).test
    assert (ann.source, ann.target, bob.source, bob.target) == ("a b c d", "e", "a b c", "d")
    assert told(read_histories(rows_of([(u, i) for u, i, _ in EVENTS]), History()))["test"][0] == (
        "ann",
        "a b c d",
        "e",
    )


def test_columns_by_name_and_by_number() -> None:
    Path("e.csv").write_text("who,what,when_\n" + table(","))
    how = Reading(names_of("who,what", "when_", 3))
    assert told(read_histories("e.csv", History(), how=how)) == EXPECTED
    Path("n.tsv").write_text("".join(f"x\t{t}\t{i}\ty\t{u}\n" for u, i, t in EVENTS))
    assert told(read_histories("n.tsv", History(), how=Reading(names_of("5,3", "2", 3)))) == EXPECTED
    with pytest.raises(
        RegardError, match=r"^n\.tsv:1: 5 columns without a header; expected user, item, time.*data\.user=1"
    ):
        read_histories("n.tsv", History())
    with pytest.raises(RegardError, match=r"^e\.csv:1: columns who, what, when_; expected a user.*data\.user="):
        read_histories("e.csv", History(), how=Reading(header=True))


def notes(text: str, name: str = "e.tsv", **options: Any) -> list[str]:
    Path(name).write_text(text)
    log = ReadLog(skip=True)
    read_histories(name, History(**options), log=log)
    return log.notes()


def test_equal_times_keep_the_order_of_the_file() -> None:
    same = [("ann", item, 7) for item in "dbca"] + [("bob", item, time) for time, item in enumerate("abcd")]
    said = notes(table("\t", same))
    assert "e.tsv: 3 lines with the time of an earlier line of the same user, kept in order" in said
    assert read_histories("e.tsv", History()).test[0].source == "d b c"


def test_repeated_items_count_once_or_each_time() -> None:
    again = [*EVENTS, ("ann", "e", 9), ("ann", "e", 10)]
    assert any("2 repeated lines of a user and an item" in one for one in notes(table("\t", again)))
    assert told(read_histories("e.tsv", History())) == EXPECTED
    kept = read_histories("e.tsv", History(repeats=True))
    assert (kept.test[0].source, kept.test[0].target) == ("e d c b a e", "e")


def test_short_histories_are_left_out_and_counted() -> None:
    said = notes(table("\t", [*EVENTS, ("eve", "a", 1), ("eve", "b", 2)]))
    assert "e.tsv: 1 of 3 users with fewer than 4 items left out" in said
    assert any(one.startswith("leave-one-out: the last item of each user is for the test") for one in said)
    with pytest.raises(RegardError, match=r"^e\.tsv: no user has 9 items; expected users with at least 9 items each$"):
        read_histories("e.tsv", History(min_length=9))


def test_times_in_the_future_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "now", lambda: 1_700_000_000.0)
    late = [(user, item, 1_600_000_000 + time) for user, item, time in EVENTS]
    late[3] = ("bob", "b", 1_900_000_000)
    said = [one for one in notes(table("\t", late)) if "future" in one]
    assert [one.partition("; ")[0] for one in said] == [
        "e.tsv: 1 line with a time in the future (first e.tsv:4, up to 2030-03-17)"
    ]
    assert not any("future" in one for one in notes(table("\t")))
    millis = [(user, item, time * 1000) for user, item, time in late]
    assert any("up to 2030-03-17" in one for one in notes(table("\t", millis)))


def test_one_user_only() -> None:
    with pytest.raises(RegardError, match=r"^e\.tsv: one user with at least 4 items; expected two or more, since"):
        notes(table("\t", EVENTS[::2]))
    assert whole_histories("e.tsv", History())[0].target == "a"  # but one can be asked about


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ann\tz\tsoon\n", r"^e\.tsv:10: time 'soon'; expected a number, such as seconds since 1970, or a date"),
        ("ann\tz\tnan\n", r"^e\.tsv:10: time 'nan'"),
        ("ann\tz\t2024-05-31\n", r"^e\.tsv:10: a date where the lines before have numbers; expected times of one kind"),
        ("\tz\t3\n", r"^e\.tsv:10: an empty user"),
        ("ann\t \t3\n", r"^e\.tsv:10: an empty item"),
        ("ann\tz\n", r"^e\.tsv:10: 2 fields"),
    ],
)
def test_lines_that_cannot_be_used(line: str, said: str) -> None:
    Path("e.tsv").write_text(table("\t") + line)
    with pytest.raises(RegardError, match=said):
        read_histories("e.tsv", History())
    log = ReadLog(skip=True)
    assert told(read_histories("e.tsv", History(), log=log)) == EXPECTED
    assert len(log.faults) == 1


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_line_of_many_letters_is_told(quote: str) -> None:
    """Longer than the csv module's own limit for a field."""
    Path("e.tsv").write_text(f"ann\t{quote}{'z' * 150_000}\n" + table("\t"))
    with pytest.raises(RegardError, match=r"^e\.tsv:\d+: "):
        read_histories("e.tsv", History())


def test_ids_with_spaces() -> None:
    spaced = [(user, f"the {item}", time) for user, item, time in EVENTS]
    assert any("9 items with spaces in the id, read with _ in their place" in one for one in notes(table("\t", spaced)))
    assert read_histories("e.tsv", History()).train[0].source == "the_e the_d"


def test_a_column_of_ratings_is_no_time() -> None:
    rated = [(f"u{n % 3}", f"i{n}", n % 5) for n in range(30)]
    assert any("column 3 looks like a rating" in one for one in notes(table("\t", rated)))
    assert read_histories("e.tsv", History()).test[0].target == "i27"


def test_files_for_validation_and_test() -> None:
    Path("e.tsv").write_text(table("\t"))
    Path("t.tsv").write_text(table("\t", [("eve", "a", 1), ("eve", "b", 2)]))
    splits = read_histories("e.tsv", History(), valid="t.tsv")
    assert told(splits) == {
        "train": [("ann", "e d c b", "a"), ("bob", "a b c", "d")],
        "valid": [("eve", "a", "b")],
        "test": [],
    }
