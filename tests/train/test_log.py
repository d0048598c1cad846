"""The log: a line an event, whole lines only, cut back to what was saved."""

from pathlib import Path

import pytest

from regard.train.log import Log, read


@pytest.fixture
def log(tmp_path: Path) -> Log:
    made = Log(tmp_path / "log.jsonl")
    for step in (10, 20, 30):
        made.add(step, loss=1 / step, valid={"bleu": 0.1 + 0.2, "signature": "ünï|"})
    return made


def test_events_come_back_exactly(log: Log) -> None:
    events = read(log.path)
    assert [event["step"] for event in events] == [10, 20, 30]
    assert events[1] == {"step": 20, "loss": 0.05, "valid": {"bleu": 0.1 + 0.2, "signature": "ünï|"}}
    assert log.path.read_text(encoding="utf-8").count("\n") == 3


def test_cut_forgets_what_came_after(log: Log) -> None:
    before = read(log.path)
    log.cut(20)
    assert read(log.path) == before[:2]
    log.cut(1000)
    assert read(log.path) == before[:2]
    log.cut(0)
    assert read(log.path) == []


def test_a_line_that_a_killed_writer_left_half_is_passed_over(log: Log) -> None:
    whole = read(log.path)
    text = log.path.read_text(encoding="utf-8")
    for end in range(text.rindex('{"step"') + 1, len(text) - 1):  # every place the writer could have died
        log.path.write_text(text[:end], encoding="utf-8")
        assert read(log.path) == whole[:2]
    log.cut(30)  # as every sitting begins
    log.add(30, again=True)
    assert read(log.path) == [*whole[:2], {"step": 30, "again": True}]


def test_no_log_is_an_empty_one(tmp_path: Path) -> None:
    assert read(tmp_path / "none.jsonl") == []
    Log(tmp_path / "none.jsonl").cut(5)
    assert read(tmp_path / "none.jsonl") == []


def test_a_line_that_is_no_event_is_passed_over(tmp_path: Path) -> None:
    """A half-written number, or a disk's zeros after a crash, are JSON or nothing, but no events."""
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n2\n\x00\x00\n[]\n{"step": 3}\n')
    assert read(path) == [{"step": 1}, {"step": 3}]
    Log(path).cut(2)
    assert read(path) == [{"step": 1}]


def test_no_damage_to_a_log_stops_anything(tmp_path: Path) -> None:
    """Broken characters, nesting without end, numbers of a thousand digits, events that are none of ours."""
    path, good = tmp_path / "log.jsonl", b'{"step": 1, "loss": 0.5, "valid": {"bleu": 1e300, "signature": "x"}}'
    bad = [
        *(
            b'{"step": 1, "loss": "\xff"}',
            b"[" * 10**5,
            b'{"a":' * 10**5,
            b"9" * 5000,
            b'{"step": "1"}',
            b'{"step": 1.0}',
        ),
        *(
            b'{"loss": 1}',
            b'{"step": 1.0}',
            b'{"step": true}',
            b'{"step": -1}',
            b'{"step": 1' + b"0" * 400 + b"}",
            b"null",
        ),
        *(b'{"step": 1, "valid": []}', b'{"step": 1, "valid": {"bleu": []}}', b'{"step": 1, "loss": "x"}', b"\x00"),
    ]
    path.write_bytes(b"\n".join([good, *bad, good]))
    assert len(read(path)) == 2
    Log(path).cut(1)
    assert path.read_bytes().count(b"\n") == len(read(path)) == 2


def test_of_a_log_too_long_the_end_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f'{{"step": {n}}}\n' for n in range(100)))
    monkeypatch.setattr("regard.train.log.LARGEST", 40)
    assert [event["step"] for event in read(path)] == [97, 98, 99]
