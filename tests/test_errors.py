"""A RegardError is one clear line, and an ordinary ValueError."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RegardError, brief, counted


def test_got_expected_do_in_this_order() -> None:
    error = RegardError("train.tsv:12: 3 fields", expected="2 (source, target)", do="remove the extra tab")
    assert str(error) == "train.tsv:12: 3 fields; expected 2 (source, target); remove the extra tab"


def test_what_is_not_said_leaves_no_trace() -> None:
    assert str(RegardError("a")) == "a"
    assert str(RegardError("a", expected="b")) == "a; expected b"
    assert str(RegardError("a", do="c")) == "a; c"


def test_it_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^a$"):
        raise RegardError("a")


@settings(deadline=None)  # a busy machine is not a wrong answer
@given(st.text(), st.text(), st.text())
def test_always_one_line(got: str, expected: str, do: str) -> None:
    message = str(RegardError(got, expected=expected, do=do))
    assert len(message.splitlines()) <= 1
    for word in got.split():
        assert word in message


def test_it_survives_the_way_back_from_a_worker() -> None:
    """A data loader's worker sends its error to the main process."""
    error = RegardError("a", expected="b", do="c")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is RegardError
    assert str(again) == str(error)


def test_a_value_is_shown_briefly() -> None:
    assert [brief(value) for value in (3, "a", [1.5])] == ["3", "'a'", "[1.5]"]
    assert brief("x" * 1000) == "'" + "x" * 78 + "…"
    assert brief(10**5000) == "a number with thousands of digits"


def test_one_and_many() -> None:
    assert [counted(number, "line") for number in (0, 1, 2_000)] == ["0 lines", "1 line", "2,000 lines"]
