"""A budget by hand: what it keeps back, what it plans, how often it lets the model be validated."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.train.budget import TAIL, TRUSTED, VALIDATING, Budget, seconds_each, spread


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def budget(limit: float, spent: float = 0.0) -> Budget:
    clock = Clock()
    made = Budget(limit, clock.now, clock)
    clock.now += spent
    return made


def test_without_a_limit_all_that_is_wanted_is_planned() -> None:
    free = budget(math.inf, spent=1e6)
    free.stepped(100, 1e5)
    free.validation = free.test = 1e9
    assert free.plan(1000, 100, 10) == 1000
    assert not free.over()
    assert not free.due()
    assert free.may_validate()
    assert free.fitting(2000, 1e9) == 2000
    assert free.reserved() == free.tail == 0.0


def test_what_the_time_allows() -> None:
    made = budget(100.0, spent=10.0)
    made.stepped(100, 10.0)
    assert made.plan(5000, 100, 50) == 100 + int((90 - TAIL) * 10)
    assert made.plan(500, 100, 50) == 500  # never more than is wanted
    made.test = 10.0
    assert made.plan(5000, 100, 50) == 100 + int((90 - TAIL - 10) * 10)
    made.validation = 0.5  # ten times, and once more at the end
    assert made.plan(5000, 100, 50) == 100 + int((90 - TAIL - 10.5) / 0.11)
    made.validation = 5.0  # each step's part of it would be 0.1 s: as long as the step, and cut to its share
    assert made.plan(5000, 100, 50) == 100 + int((90 - TAIL - 15) / (0.1 / (1 - VALIDATING)))


def test_too_early_to_tell() -> None:
    made = budget(1000.0, spent=1.0)
    made.stepped(TRUSTED - 1, 1.0)
    assert made.plan(10**6, 49, 100) == 10**6
    made.stepped(1, 0.02)
    assert made.plan(10**6, 50, 100) < 10**6
    slow = budget(100.0, spent=6.0)
    slow.stepped(2, 6.0)  # few steps, but a noticeable part of the time
    assert slow.plan(10**6, 2, 100) == 2 + int((94 - TAIL) / 3)


def test_the_time_is_over() -> None:
    made = budget(100.0, spent=98.0)
    assert made.over()
    assert made.plan(1000, 7, 10) == 7
    made = budget(100.0, spent=83.0)
    made.test = 500.0  # a test that takes more than its share is cut
    assert made.reserved() == pytest.approx(15.0 + TAIL)
    assert made.over()
    made.validation = 500.0  # and at least half of the time is for training
    assert made.reserved() == 50.0
    assert budget(1.0, spent=0.5).reserved() == pytest.approx(0.1)  # a small limit has a small tail


def test_validations_keep_to_their_share() -> None:
    made = budget(1000.0, spent=100.0)
    made.validation = 10.0
    assert made.may_validate()
    made.validated = 10.0
    assert not made.may_validate()
    assert made.fitting(2000, 0.1) == 300
    assert made.fitting(200, 0.1) == 200
    assert made.fitting(200, 100.0) == 1
    assert made.fitting(200, 0.0) == 200


def test_probes_come_at_their_moments() -> None:
    made = budget(100.0, spent=9.0)
    assert not made.due()
    assert isinstance(made.now, Clock)
    for now, due in ((11.0, True), (12.0, False), (75.0, True), (80.0, False), (91.0, True), (99.0, False)):
        made.now.now = 1000.0 + now
        assert made.due() == due


def test_the_time_that_remains() -> None:
    made = budget(100.0, spent=10.0)
    assert made.remaining(0, 100, 10) == 90.0
    made.stepped(100, 10.0)
    made.test = 3.0
    assert made.remaining(100, 200, 10) == pytest.approx(10 + 3 + TAIL)
    assert made.remaining(100, 10_000, 10) == 90.0
    free = budget(math.inf)
    assert math.isnan(free.remaining(0, 100, 10))
    free.stepped(100, 10.0)
    free.validation = 1.0
    assert free.remaining(100, 200, 10) == pytest.approx(10 + 10 + 1)


def test_a_machine_that_becomes_slow_is_noticed() -> None:
    made = budget(1000.0)
    for _ in range(100):
        made.stepped(10, 1.0)
    assert made.pace == pytest.approx(0.1)
    for _ in range(60):
        made.stepped(1, 1.0)
    assert made.pace > 0.25


@given(
    st.integers(1, 10**6), st.integers(1, 10**6), st.floats(1e-3, 1e6), st.floats(0, 1e6), st.floats(0, 1e6),
    st.floats(1e-3, 1e4), st.integers(1, 10**4),
)  # fmt: skip
def test_plans_stay_between_what_is_done_and_what_is_wanted(
    wanted: int, step: int, limit: float, spent: float, test: float, pace: float, every: int
) -> None:
    made = budget(limit, spent)
    made.test = test
    made.stepped(100, 100 * pace)
    assert step <= made.plan(wanted, step, every) <= max(wanted, step)


def test_seconds_each_asks_for_more_only_while_that_is_cheap() -> None:
    clock, asked = Clock(), list[int]()

    def answer(some: Sequence[int]) -> None:
        asked.append(len(some))
        clock.now += 0.5 * len(some)

    assert seconds_each(answer, range(1000), 1e9, clock) == 0.5
    assert asked == [1, 8, 64, 256]
    asked.clear()
    assert seconds_each(answer, range(1000), 15.0, clock) == 0.5
    assert asked == [1, 8]
    asked.clear()
    assert seconds_each(answer, range(3), 1e9, clock) == 0.5
    assert asked == [1, 3]
    assert seconds_each(answer, [], 1e9, clock) == 0.0


def test_a_sample_is_spread_over_the_whole() -> None:
    assert spread(range(100), 4) == [0, 25, 50, 75]
    assert spread(range(3), 4) == [0, 1, 2]
    assert len(set(spread(range(1001), 997))) == 997
