"""What becomes of a saved place when the training is asked for again; whole runs go on in test_loop.py."""

import math
from pathlib import Path
from typing import Any

import pytest

from regard.errors import RegardError
from regard.train.resume import resumed
from regard.train.run import Run
from regard.train.state import TrainState

run = Run(Path("run"), {}, {})
finished: dict[str, Any] = {"step": 50, "spent": 60.0, "finished": True, "ready": True}


def place(steps: int, limit: float = math.inf, **more: Any) -> TrainState:
    return TrainState("data", steps, steps, limit, **more)


@pytest.mark.parametrize(
    ("saved", "asked", "goes_on"),
    [
        (place(50, **finished), place(50), False),
        (place(50, **finished), place(40), False),
        (place(50, **finished), place(60), True),
        (place(50, 60.0, **finished), place(50, 120.0), False),  # more time, and nothing left to do
        (place(50, **finished, since=10), place(60), True),  # more is asked for: patience begins again
    ],
)
def test_a_finished_place_goes_on_only_if_more_is_asked_for(
    saved: TrainState, asked: TrainState, goes_on: bool
) -> None:
    found = resumed(asked, run, saved, patience=10)
    assert found.finished is not goes_on
    if goes_on:
        assert (found.steps, found.wanted, found.before, found.since) == (60, 60, 60.0, 0)


def test_a_stopped_place_keeps_its_budget_unless_another_is_given() -> None:
    for limit, before in ((80.0, 0.0), (90.0, 60.0)):
        saved = place(100, 80.0, step=50, spent=60.0)
        found = resumed(place(100, limit), run, saved, patience=10)
        assert (found.limit, found.before, found.finished) == (limit, before, False)


def test_without_a_saved_place_it_begins() -> None:
    fresh = place(5)
    assert resumed(fresh, run, None, patience=10) is fresh


def test_other_data_is_refused_by_name() -> None:
    with pytest.raises(RegardError, match="the training data is not what run was started with"):
        resumed(place(5), run, TrainState("other", 5), patience=10)
