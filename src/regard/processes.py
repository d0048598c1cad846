"""Calls in fresh processes, some at a time: each has its memory, its threads and its random state to itself.

What one of them raises ends all: the others are asked to stop (SIGTERM), upon which a training saves where it stands.
Ctrl-C and SIGTERM do the same, and end in KeyboardInterrupt.

    for key, result in in_processes({"a": (function, 1, 2), "b": (function, 3, 4)}, jobs=2): ...
"""

import multiprocessing
import signal
import traceback
from collections.abc import Callable, Generator, Mapping
from multiprocessing.connection import Connection, wait
from typing import Any

from regard.errors import RegardError
from regard.train.stop import Stop

__all__ = ["in_processes"]


def in_processes(work: Mapping[str, tuple[Any, ...]], jobs: int) -> Generator[tuple[str, Any], None, None]:
    """Each key with what its call gave, as they come; no more than `jobs` at a time."""
    context, waiting = multiprocessing.get_context("spawn"), list(work.items())
    running: dict[Connection, tuple[str, Any]] = {}
    try:
        with Stop() as stop:
            while waiting or running:
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
                    except RegardError:
                        if stop.asked is not None:  # who asked us to stop asked it too
                            raise KeyboardInterrupt from None
                        raise
                    yield key, found
                if stop.asked is not None:
                    raise KeyboardInterrupt
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
    """In the process: the result, or what was raised, goes to the one who asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the one who asked too, who then asks us to stop
    try:
        pipe.send(function(*given))
    except BaseException as error:
        error.add_note(traceback.format_exc())
        pipe.send(error)
