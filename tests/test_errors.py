"""A RegardError is one clear line, and an ordinary ValueError."""

import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import RegardError, chance, counted


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


def test_a_chance_is_told_with_its_name() -> None:
    assert [chance("dropout", value) for value in (0.0, 0.3, 1.0)] == [0.0, 0.3, 1.0]
    assert chance("drop", 0.0, one=False) == 0.0
    assert chance("top_p", 1.0, zero=False) == 1.0
    for ends, wrong, expected in (
        ({}, (-0.1, 1.5, math.nan, math.inf), "from 0 to 1"),
        ({"one": False}, (-0.1, 1.0, math.nan), "from 0 to less than 1"),
        ({"zero": False}, (0.0, 1.1, math.nan), "above 0 and at most 1"),
        ({"zero": False, "one": False}, (0.0, 1.0), "above 0 and less than 1"),
    ):
        for value in wrong:
            with pytest.raises(RegardError) as error:
                chance("encoder.dropout", value, **ends)
            assert str(error.value) == f"encoder.dropout={value}; expected {expected}"


def test_one_and_many() -> None:
    assert [counted(number, "line") for number in (0, 1, 2_000)] == ["0 lines", "1 line", "2,000 lines"]
