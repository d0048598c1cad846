"""Locks a run folder: one process writes at a time. `.lock` names the process, the host and the time.

The lock is an `flock` on that file, which the system releases when its holder dies, so a killed training never blocks
the next one. On file systems without `flock`, the process named in the file decides.

    with lock(folder): ...      # RegardError if another process holds it
"""

import contextlib
import errno
import fcntl
import json
import os
import socket
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from regard.errors import RegardError

__all__ = ["NAME", "Hold", "held", "lock"]

NAME = ".lock"
# How a file system says that it has no flock.
NONE = (errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL, errno.EBADF)


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Holds the lock of a folder within the block."""
    path = folder / NAME
    file = _taken(path)
    try:
        with contextlib.suppress(OSError):
            os.ftruncate(file, 0)
            os.pwrite(file, _holder().encode(), 0)  # told to others; the lock itself does not depend on it
        yield
    finally:
        if _is(file, path):  # not where the folder was removed or made anew meanwhile
            with contextlib.suppress(OSError):
                path.unlink()
        os.close(file)


Hold = Callable[[], None]


@contextlib.contextmanager
def held(folder: Path, at_once: bool) -> Iterator[Hold]:
    """The same for a folder that may not exist yet; call the result to lock it once it is created."""
    with contextlib.ExitStack() as locks:

        def hold() -> None:
            locks.enter_context(lock(folder))

        if at_once:
            hold()
        yield hold


def _holder() -> str:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"process": os.getpid(), "host": socket.gethostname(), "since": since})


def _taken(path: Path) -> int:
    """The lock's file, open and held by us."""
    while True:
        # Neither follow a link nor wait for a pipe: the folder may come from anywhere.
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise RegardError(f"{path} is not a regular file", do="remove it")
            _claim(file, path)
            if _is(file, path):  # else its holder removed it just before we had it
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _claim(file: int, path: Path) -> None:
    process, host, since = _read(os.pread(file, 1000, 0))
    here = host == socket.gethostname()
    who = f"process {process} on {host} since {since}" if process else "another process"
    held, do = f"{path.parent} is in use by {who}", "wait for it, stop it, or use another folder"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RegardError(held, do=do) from None
    except OSError as error:
        if error.errno not in NONE:
            raise
        if process and not (here and _gone(process)):  # of another host nobody can tell
            raise RegardError(held, do=f"{do}; if that process is gone, remove {path}") from None


def _is(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


def _read(told: bytes) -> tuple[int, str, str]:
    """Process, host and time of the holder; 0 if the file does not say."""
    try:
        table = json.loads(told)
        process, host, since = (table[key] for key in ("process", "host", "since"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0, "", ""
    if (
        not isinstance(process, int)
        or not 0 < process < 2**31
        or not all(str(one).isprintable() for one in table.values())
    ):
        return 0, "", ""
    return process, str(host), str(since)


def _gone(process: int) -> bool:
    """Whether no such process runs on this host; our own pid can only be a reused one."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it runs, and is somebody else's
        return False
    return process == os.getpid()
