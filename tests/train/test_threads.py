"""Threads: several where they help, one where others keep the cores busy, and always given back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from regard.train import threads
from regard.train.threads import quicker, restored, usable


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    with restored():
        yield


class Machine:
    """Work that takes so long with several threads, and a second with one."""

    def __init__(self, several: float) -> None:
        self.now, self.several, self.calls = 0.0, several, list[int]()

    def work(self) -> None:
        count = torch.get_num_threads()
        self.calls.append(count)
        self.now += self.several if count > 1 else 1.0


@pytest.mark.parametrize(("several", "chosen"), [(0.6, 2), (0.94, 2), (0.96, 1), (1.0, 1), (5.0, 1)])
def test_several_only_where_they_are_quicker(several: float, chosen: int) -> None:
    machine = Machine(several)
    assert quicker(machine.work, 2, lambda: machine.now) == chosen
    assert torch.get_num_threads() == chosen
    assert machine.calls == [2, 2, 1, 2, 1, 2, 1]


def test_one_core_has_one_thread_and_nothing_to_try() -> None:
    assert quicker(lambda: pytest.fail("tried"), 1, lambda: 0.0) == 1


def test_a_moment_of_business_does_not_decide() -> None:
    times = iter([9.0, 9.0, 1.0, 0.5, 1.0, 0.5, 1.0])
    clock = [0.0]

    def work() -> None:
        clock[0] += next(times)

    assert quicker(work, 2, lambda: clock[0]) == 2


def test_no_more_than_the_cores_of_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(4)
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert usable() == 0  # it is the user's
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2, 3, 4, 5}, raising=False)
    monkeypatch.setattr(threads, "CGROUP", tmp_path / "cpu.max")
    assert usable() == 4  # PyTorch's own number
    (tmp_path / "cpu.max").write_text("250000 100000\n")
    assert usable() == 2
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    assert usable() == 1
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert usable() == 4
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3}, raising=False)
    assert usable() == 1


def test_given_back() -> None:
    def broken() -> None:
        with restored():
            torch.set_num_threads(1)
            raise KeyError

    torch.set_num_threads(2)
    with pytest.raises(KeyError):
        broken()
    assert torch.get_num_threads() == 2
