"""Every task trains in several processes by `regard.train`, with rows and with files; killed, and resumed."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from small_runs import everything, place_of
from test_distribute import HERE, ended, port

from regard import api
from regard.find import names


def begin(folder: Path, steps: int, dies_at: int, tasks: Sequence[str]) -> list[subprocess.Popen[str]]:
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port())}
    words = [sys.executable, str(HERE / "any_team.py"), str(folder), str(steps), str(dies_at), *tasks]
    return [
        subprocess.Popen(words, env={**os.environ, **group, "RANK": str(rank)},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for rank in range(2)
    ]  # fmt: skip


@pytest.mark.sweep
@pytest.mark.timeout(900)
def test_every_task_trains_in_two_processes(tmp_path: Path) -> None:
    """One after the other, in the same two processes; the first writes runs that load."""
    tasks = names("tasks")
    found = ended(begin(tmp_path, 2, 0, tasks))
    assert [code for code, _ in found] == [0, 0], found
    for task in tasks:
        place = place_of(tmp_path / task)
        assert (place["processes"], place["step"]) == (2, 2), task
        assert api.load(tmp_path / task, "cpu").config["task"] == task


@pytest.mark.sweep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("task", ["answer", "pretrain"])
def test_a_task_is_killed_and_resumed(task: str, tmp_path: Path) -> None:
    """Of rows and of a text on disk: both go on, and come to the same, bit for bit."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "killed").mkdir()
    assert [code for code, _ in ended(begin(tmp_path / "whole", 12, 0, [task]))] == [0, 0]
    (code, said), (killed, _) = ended(begin(tmp_path / "killed", 12, 6, [task]))
    assert (code, killed) == (2, -signal.SIGKILL), said
    assert "Traceback" not in said
    assert 0 < place_of(tmp_path / "killed" / task)["step"] < 12
    assert [code for code, _ in ended(begin(tmp_path / "killed", 12, 0, [task]))] == [0, 0]
    assert everything(tmp_path / "killed" / task) == everything(tmp_path / "whole" / task)
