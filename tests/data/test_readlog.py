"""A bad line is an error, or it is skipped and counted."""

import pytest

from regard.data.readlog import ReadLog
from regard.errors import RegardError


def test_an_error_says_how_to_skip() -> None:
    with pytest.raises(RegardError, match=r"a:1: 3 fields; expected 2; cut it, or set data.skip=true to skip such"):
        ReadLog().bad("fields", "a:1", "3 fields", "2", "cut it")
    with pytest.raises(RegardError, match=r"^a:1: no; why; set data.skip=true to skip such lines$"):
        ReadLog().failed("value", "a:1", RegardError("a:1: no", do="why"))


def test_what_is_skipped_is_counted() -> None:
    log = ReadLog(skip=True)
    for line in range(1, 1_001):
        log.bad("fields", f"a:{line}", "3 fields", "2", "cut it")
    log.failed("encoding", "a:7", RegardError("a:7: byte 1", do="why"))
    log.bad("empty", "b:1", "an empty text")
    log.blank("a", 4)
    log.blank("b", 5)
    log.blank("b", 6)
    log.decide("a: a note")
    log.decide("a: a note")
    assert log.notes() == [
        "a: a note",
        "a: skipped 1 blank line (line 4)",
        "b: skipped 2 blank lines (the first is line 5)",
        "a: skipped 1 line with a broken encoding (a:7: byte 1)",
        "a: skipped 1,000 lines with a wrong number of fields (a:1: 3 fields; a:2: 3 fields; a:3: 3 fields)",
        "b: skipped 1 line with an empty text or label (b:1: an empty text)",
    ]
    assert log.faults[1].do == "expected 2; cut it"
    assert str(log.nothing("c", "only blank lines")) == "c: only blank lines; expected one example per line"
    assert "nothing can be used: 1 line with an empty text or label (b:1" in str(log.nothing("b", "only blank lines"))
