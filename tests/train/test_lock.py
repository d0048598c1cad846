"""A folder has one writer; a dead one's lock is taken over; whoever comes second is told who is there."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.train.lock import NAME, lock

holding = """
import sys
from pathlib import Path
from regard.train.lock import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def refused(folder: Path) -> str:
    with pytest.raises(RegardError) as caught, lock(folder):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_held_and_let_go(tmp_path: Path) -> None:
    with lock(tmp_path):
        told = json.loads((tmp_path / NAME).read_text())
        assert told["process"] == os.getpid()
        said = refused(tmp_path)
        assert f"{tmp_path} is in use by process {os.getpid()} on {told['host']} since {told['since']}" in said
        assert refused(tmp_path) == said  # asking changed nothing
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), lock(tmp_path):
        raise KeyboardInterrupt
    with lock(tmp_path):
        pass


def test_another_process_holds_it_until_it_dies(tmp_path: Path) -> None:
    command = [sys.executable, "-c", holding, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert f"process {other.pid} " in refused(tmp_path)
        other.send_signal(signal.SIGKILL)
    assert (tmp_path / NAME).exists()  # nobody was left to clear it away
    with lock(tmp_path):
        assert json.loads((tmp_path / NAME).read_text())["process"] == os.getpid()


def test_a_folder_made_anew_keeps_the_new_lock(tmp_path: Path) -> None:
    with lock(tmp_path):
        (tmp_path / NAME).unlink()
        with lock(tmp_path):
            pass
        (tmp_path / NAME).write_text("somebody else's")
    assert (tmp_path / NAME).exists()


def test_a_lock_removed_while_we_waited_for_it_is_not_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its holder lets go between our opening the file and our locking it: nobody else would see that lock."""
    real, removed = fcntl.flock, []

    def late(file: int, how: int) -> None:
        if not removed:
            removed.append((tmp_path / NAME).unlink())
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with lock(tmp_path):
        assert (tmp_path / NAME).exists()
        assert refused(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 900, b"{}", b'{"process": "1", "host": 1, "since": 2}', b"7"])
def test_what_the_file_says_is_only_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with lock(tmp_path):
        (tmp_path / NAME).write_bytes(content)
        assert "in use by another process" in refused(tmp_path)


def no_flock(*_: object) -> None:
    raise OSError(errno.ENOTSUP, "Operation not supported")


def test_without_flock_the_process_named_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", no_flock)
    with lock(tmp_path):
        told = json.loads((tmp_path / NAME).read_text())
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass

    def left_by(**changed: object) -> None:
        (tmp_path / NAME).write_text(json.dumps({**told, **changed}))

    left_by(process=gone.pid)
    with lock(tmp_path):
        pass
    left_by()  # our own number: a process before us had it
    with lock(tmp_path):
        pass
    left_by(process=os.getppid())
    assert f"remove {tmp_path / NAME}" in refused(tmp_path)
    left_by(process=gone.pid, host="elsewhere")
    assert f"process {gone.pid} on elsewhere" in refused(tmp_path)


def test_other_troubles_of_a_lock_are_told_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match="Input/output"), lock(tmp_path):
        pass


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_a_file_is_a_lock(tmp_path: Path, kind: str) -> None:
    victim, path = tmp_path / "victim", tmp_path / NAME
    victim.write_text("mine")
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises((RegardError, OSError), match=NAME), lock(tmp_path):
        pass
    assert victim.read_text() == "mine"
