"""Rates by hand, times as people write them, and plans that fit into the time there is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import RegardError
from regard.train.schedule import Decay, Plan, seconds, spelled

root = math.sqrt


@pytest.mark.parametrize("decay", ["cosine", "linear", "inverse", "none"])
def test_warm_up_is_a_line(decay: Decay) -> None:
    plan = Plan(steps=100, warmup=4, decay=decay)
    assert [plan.rate(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("decay", "shares"),
    [
        # Steps 4 (the first after warm-up), 28 and 52 (a quarter and a half of the 96 that are left), and the end.
        ("cosine", {4: 1.0, 28: 0.5 + root(0.125), 52: 0.5, 76: 0.5 - root(0.125), 100: 0.0, 120: 0.0}),
        ("linear", {4: 1.0, 28: 0.75, 52: 0.5, 100: 0.0, 120: 0.0}),
        ("inverse", {4: 1.0, 16: 0.5, 64: 0.25, 100: 0.2}),
        ("none", {4: 1.0, 52: 1.0, 99: 1.0, 100: 1.0}),
    ],
)
def test_by_hand(decay: Decay, shares: dict[int, float]) -> None:
    plan = Plan(steps=100, warmup=4, decay=decay)
    assert {step: plan.rate(step) for step in shares} == pytest.approx(shares, abs=1e-12)


def test_warm_up_takes_at_most_a_quarter_of_the_plan() -> None:
    plan = Plan(steps=20, warmup=200, decay="linear")
    assert [plan.rate(step) for step in (0, 4, 5, 20)] == pytest.approx([0.2, 1.0, 1.0, 0.0])
    assert Plan(steps=3, warmup=200, decay="cosine").rate(0) == 1.0  # too short for any warm-up
    assert Plan(steps=9, warmup=0, decay="inverse").rate(4) == pytest.approx(0.5)


def test_a_shorter_warm_up_is_said() -> None:
    said = Plan(steps=1020, warmup=300, decay="linear").shortened
    assert said == "train.warmup=300 is reduced to 255: warm-up is at most a quarter of the 1,020 planned steps"
    assert Plan(steps=1, warmup=1, decay="linear").shortened is not None
    assert Plan(steps=20, warmup=5, decay="linear").shortened is None
    assert Plan(steps=3, warmup=0, decay="linear").shortened is None


@given(
    st.integers(1, 5000), st.integers(0, 5000), st.sampled_from(["cosine", "linear", "inverse", "none"]), st.integers(0)
)
def test_a_rate_is_a_share(steps: int, warmup: int, decay: Decay, step: int) -> None:
    plan = Plan(steps, warmup, decay)
    assert 0 <= plan.rate(step) <= 1
    assert plan.rate(min(step, steps - 1)) > 0  # no planned step is for nothing


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1h30m", 5400),
        ("90", 90),
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1h2m3s", 3723),
        ("1m30", 90),
        ("0.5s", 0.5),
        (" 5m ", 300),
        ("", math.inf),
    ],
)
def test_times(text: str, wanted: float) -> None:
    assert seconds(text) == wanted


@pytest.mark.parametrize("text", ["soon", "5x", "m", "s", "-5m", "1m2h", "5 m 3", " ", "1.5h", "∞", "nan", "٥m٥x"])
def test_no_times(text: str) -> None:
    with pytest.raises(RegardError, match="expected a time such as 90s, 5m or 1h30m"):
        seconds(text)


@pytest.mark.parametrize("text", ["0", "0s", "0h0m0s", "10000h1s", f"{'9' * 400}s"])
def test_times_out_of_reach(text: str) -> None:
    with pytest.raises(RegardError, match="expected more than 0s and at most 10000h"):
        seconds(text)


@pytest.mark.parametrize(
    ("length", "text"),
    [(1.0, "1s"), (90.0, "90s"), (60.0, "1m"), (120.0, "2m"), (5400.0, "1h30m"), (3723.0, "1h2m3s"), (0.5, "1s")],
)
def test_a_time_is_written_as_it_is_read(length: float, text: str) -> None:
    assert spelled(length) == text
    assert seconds(text) == math.ceil(length)
