"""Several processes that train as one: the same gradients, one that writes, all that stop; killed and resumed."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_runs import everything, newest, place_of

from regard.errors import RegardError
from regard.train.distribute import Processes, joined
from regard.train.resume import resumed
from regard.train.run import Run
from regard.train.state import TrainState
from regard.types import Network

HERE = Path(__file__).resolve().parent
BOUNDED = 60.0  # seconds within which the others must notice; it takes far less


def port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        found: int = one.getsockname()[1]
        return found


def begin(folder: Path, *options: int, processes: int = 2) -> list[subprocess.Popen[str]]:
    """So many processes, as torchrun would start them."""
    group = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port())}
    words = [sys.executable, str(HERE / "team.py"), str(folder), *map(str, options)]
    return [
        subprocess.Popen(words, env={**os.environ, **group, "RANK": str(rank)} if processes > 1 else None,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for rank in range(processes)
    ]  # fmt: skip


def ended(processes: Sequence[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    said = [one.communicate(timeout=300)[0] for one in processes]
    return [(one.returncode, text) for one, text in zip(processes, said, strict=True)]


@pytest.fixture
def group(tmp_path: Path) -> None:  # type: ignore[misc]
    """A group of one process: everything goes through torch.distributed."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("group")
def test_what_travels() -> None:
    several = Processes(0, 2)  # which would ask the other; alone in its group, it hears itself
    assert Processes.now() == Processes(0, 1)
    assert several.told({"steps": 3, "text": "für"}) == {"steps": 3, "text": "für"}
    assert several.told("") == ""
    assert several.agreed([7, 0, 1], 15) == ([7, 0, 1], 15)
    assert several.total(5) == 5
    with joined():  # somebody else's group is used and left as it is
        assert torch.distributed.is_initialized()
    assert torch.distributed.is_initialized()


def test_alone_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    alone, network = Processes(), Network()
    assert (alone.first, alone.alone, alone.told(3), alone.total(4)) == (True, True, 3, 4)
    assert alone.agreed([1, 2], 0) == ([1, 2], 0)
    assert alone.wrapped(network) is network
    monkeypatch.setenv("WORLD_SIZE", "1")
    with joined():
        assert not torch.distributed.is_initialized()


@pytest.mark.parametrize(("rows", "shares"), [([4, 5, 6, 7, 8], [[4, 7], [5, 8], [6]]), ([4, 5], [[4, 5]] * 3)])
def test_shares(rows: list[int], shares: list[list[int]]) -> None:
    assert [Processes(rank, 3).share(rows) for rank in range(3)] == shares


def test_another_number_of_processes_is_refused() -> None:
    with pytest.raises(RegardError, match=r"run was begun with processes: 2, not 1; resume it with as many as before"):
        resumed(TrainState("data", 9, 9), Run(Path("run"), {}, {}), TrainState("data", 9, 9, step=3, processes=2), 5)


@pytest.mark.sweep
@pytest.mark.timeout(600)
def test_two_train_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients of two processes are those of one with the same batches, to rounding: after six plain steps, so are the
    weights."""
    monkeypatch.setenv("PLAIN", "1")
    found = []
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        assert [code for code, _ in ended(begin(folder, 6, 0, 1, processes=processes))] == [0] * processes
        found.append(load_file(newest(folder) / "weights.safetensors"))
        assert place_of(folder)["processes"] == processes
    begun = load_file(tmp_path / "1" / "model.safetensors")
    for name, one in found[0].items():
        torch.testing.assert_close(found[1][name], one, rtol=1e-5, atol=1e-6)
    assert place_of(tmp_path / "1")["tokens"] == place_of(tmp_path / "2")["tokens"]
    assert any(not torch.equal(one, begun[name]) for name, one in found[0].items())


@pytest.mark.sweep
@pytest.mark.timeout(600)
@pytest.mark.parametrize("accumulate", [1, 3])
def test_killed_and_resumed(tmp_path: Path, accumulate: int) -> None:
    """One of two is killed: the other ends soon, with one line. Both go on, and come to the same, bit for bit."""
    assert [code for code, _ in ended(begin(tmp_path / "whole", 22, 0, accumulate))] == [0, 0]
    folder = tmp_path / "killed"
    processes = begin(folder, 22, 8 * accumulate, accumulate)
    processes[1].wait(timeout=300)
    began = time.monotonic()
    (code, said), (killed, _) = ended(processes)
    assert time.monotonic() - began < BOUNDED
    assert (code, killed) == (2, -signal.SIGKILL)
    assert said.splitlines()[-1] == (
        "process 0 of 2: another process of this training has ended; see what it said, then repeat the command to "
        "resume"
    )
    assert "Traceback" not in said
    assert 0 < place_of(folder)["step"] < 22
    assert [code for code, _ in ended(begin(folder, 22, 0, accumulate, processes=1))] == [2]
    assert [code for code, _ in ended(begin(folder, 22, 0, accumulate))] == [0, 0]
    assert everything(folder) == everything(tmp_path / "whole")
    assert {"cpu", "cpu.1"} <= load_file(newest(folder) / "random.safetensors").keys()


@pytest.mark.sweep
@pytest.mark.timeout(600)
def test_a_signal_to_one_stops_all(tmp_path: Path) -> None:
    processes = begin(tmp_path / "run", 10**6, 0, 1)
    state = tmp_path / "run" / "state"
    while not state.exists() or not list(state.glob("step-*")):
        assert all(one.poll() is None for one in processes), ended(processes)
        time.sleep(0.05)
    processes[1].send_signal(signal.SIGTERM)
    assert [code for code, _ in ended(processes)] == [0, 0]
    assert place_of(tmp_path / "run")["step"] > 0
    assert json.loads((newest(tmp_path / "run") / "place.json").read_text())["finished"] is False
