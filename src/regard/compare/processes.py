"""Runs calls in fresh processes, several at a time: each has its own memory, threads and random state.

If one raises, the others get SIGTERM, on which a training saves its state. Ctrl-C and SIGTERM do the same and raise
KeyboardInterrupt. At a deadline (`time.monotonic()`) what still runs is ended, and nothing more is yielded. With
`alone` the result of a process that died is a RegardError, and the others go on.

    for key, result in in_processes({"a": (function, 1, 2), "b": (function, 3, 4)}, jobs=2): ...
"""

import math
import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Generator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any

from regard.errors import RegardError
from regard.train.stop import Stop

__all__ = ["in_processes"]


def in_processes(
    work: Mapping[str, tuple[Any, ...]],
    jobs: int,
    deadline: float = math.inf,
    tick: Callable[[], None] = lambda: None,
    alone: bool = False,
) -> Generator[tuple[str, Any], None, None]:
    """Yields each key with its result as it arrives; at most `jobs` run at a time. `tick` is called while it waits."""
    context, waiting = multiprocessing.get_context("spawn"), list(work.items())
    running: dict[Connection, tuple[str, Any]] = {}
    try:
        with Stop() as stop:
            while (waiting or running) and time.monotonic() < deadline:
                while waiting and len(running) < jobs:
                    key, call = waiting.pop(0)
                    mine, theirs = context.Pipe(duplex=False)
                    process = context.Process(target=_call, args=(theirs, *call), daemon=True)
                    process.start()
                    theirs.close()
                    running[mine] = key, process
                for pipe in wait(list(running), timeout=0.2):
                    assert isinstance(pipe, Connection)
                    key, process = running.pop(pipe)
                    try:
                        found = _received(pipe, key, process)
                    except RegardError as error:
                        if stop.asked is not None:  # who asked us to stop asked it too
                            raise KeyboardInterrupt from None
                        if not alone:
                            raise
                        found = error
                    yield key, found
                if stop.asked is not None:
                    raise KeyboardInterrupt
                tick()
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.join()


def _received(pipe: Connection, key: str, process: Any) -> Any:
    try:
        found = pipe.recv()
    except EOFError:  # nobody wrote, and nobody will
        process.join()
        what = f"{key}: its process died (exit code {process.exitcode})"
        raise RegardError(what, do="if memory ran out, run fewer at a time") from None
    process.join()
    if isinstance(found, RegardError):
        raise RegardError(f"{key}: {found}") from found
    if isinstance(found, BaseException):
        raise found
    return found


def _call(pipe: Connection, function: Callable[..., Any], *given: Any) -> None:
    """Runs in the process: sends back the result or the exception."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the one who asked too, who then asks us to stop
    try:
        pipe.send(function(*given))
    except BaseException as error:
        error.add_note(traceback.format_exc())
        pipe.send(error)
