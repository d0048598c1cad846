"""Calls in processes of their own: results as they come, never more than wanted at a time, nothing left behind."""

import math
import multiprocessing
import os
import signal
import threading
import time
from typing import Any

import pytest

from regard.cli.options import parse_pairs
from regard.compare.processes import in_processes
from regard.errors import RegardError


@pytest.fixture(scope="module")
def imported() -> Any:
    """Processes that begin as copies of one that has imported everything already, which takes longer than the tests."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pytest", "regard.compare.processes"])
    return context


@pytest.fixture
def copies(imported: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing, "get_context", {"spawn": imported}.__getitem__)


def test_a_fresh_process() -> None:
    assert list(in_processes({"root": (math.sqrt, 9.0)}, jobs=1)) == [("root", 3.0)]


@pytest.mark.usefixtures("copies")
def test_each_call_has_its_process() -> None:
    found = dict(in_processes({"one": (os.getpid,), "two": (os.getpid,), "root": (math.sqrt, 9.0)}, jobs=3))
    assert found["root"] == 3.0
    assert len({os.getpid(), found["one"], found["two"]}) == 3
    assert dict(in_processes({}, jobs=2)) == {}


@pytest.mark.usefixtures("copies")
@pytest.mark.parametrize("jobs", [1, 2])
def test_no_more_at_a_time_than_wanted(jobs: int) -> None:
    keys = []
    for key, _ in in_processes({str(n): (math.sqrt, 1.0) for n in range(3)}, jobs):
        assert len(multiprocessing.active_children()) < jobs
        keys.append(key)
    assert sorted(keys) == ["0", "1", "2"]
    assert jobs > 1 or keys == ["0", "1", "2"]


@pytest.mark.usefixtures("copies")
def test_what_one_raises_ends_all() -> None:
    began = time.monotonic()
    with pytest.raises(ValueError, match="invalid literal") as caught:
        list(in_processes({"sleeps": (time.sleep, 200), "fails": (int, "x"), "later": (time.sleep, 200)}, jobs=2))
    assert "in _call" in caught.value.__notes__[0]  # where it happened, for a developer
    assert multiprocessing.active_children() == []
    assert time.monotonic() - began < 100


@pytest.mark.usefixtures("copies")
def test_a_mistake_names_its_call() -> None:
    with pytest.raises(RegardError, match=r"^encoder=a seed 1: cannot read 'x'; expected key=value"):
        list(in_processes({"encoder=a seed 1": (parse_pairs, ["x"])}, jobs=1))


@pytest.mark.usefixtures("copies")
def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(RegardError, match=r"^a: its process died \(exit code 3\); if memory ran out"):
        list(in_processes({"a": (os._exit, 3)}, jobs=1))


@pytest.mark.usefixtures("copies")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all(number: int) -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), number))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        list(in_processes({"sleeps": (time.sleep, 200), "later": (time.sleep, 200)}, jobs=1))
    timer.join()
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("copies")
def test_who_needs_no_more_leaves_nothing_running() -> None:
    results = in_processes({"quick": (math.sqrt, 4.0), "slow": (time.sleep, 200)}, jobs=2)
    assert next(results) == ("quick", 2.0)
    results.close()
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("copies")
def test_a_deadline_ends_what_still_runs() -> None:
    began = time.monotonic()
    work = {"sleeps": (time.sleep, 200), "later": (math.sqrt, 4.0)}
    assert list(in_processes(work, jobs=1, deadline=began + 0.5)) == []
    assert multiprocessing.active_children() == []
    assert time.monotonic() - began < 100


@pytest.mark.usefixtures("copies")
def test_a_tick_while_waiting() -> None:
    ticks: list[float] = []
    assert dict(in_processes({"a": (time.sleep, 0.5)}, 1, tick=lambda: ticks.append(time.monotonic()))) == {"a": None}
    assert len(ticks) >= 2


def test_one_that_dies_alone_leaves_the_others() -> None:
    work = {"dies": (os._exit, 3), "root": (math.sqrt, 9.0)}
    found = dict(in_processes(work, jobs=2, alone=True))
    assert found["root"] == 3
    assert str(found["dies"]).startswith("dies: its process died (exit code 3)")
