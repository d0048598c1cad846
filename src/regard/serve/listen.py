"""Opens a port; an address that cannot be used is one clear error before anything else is done.

with closing(listen("127.0.0.1", 8000)) as listener:
    until_stopped(uvicorn.Server(config), listener)
"""

import os
import signal
import socket
from contextlib import suppress
from errno import EADDRINUSE
from types import FrameType

import uvicorn

from regard.errors import RegardError

__all__ = ["backlog", "listen", "most_connections", "until_stopped"]

backlog = 2_048  # connections that wait to be taken in; a flood must not be told by a reset


def listen(host: str, port: int, taken: str = "") -> socket.socket:
    """A socket that listens; port 0 is any that is free. `taken` asks what else may hold the port, for the message."""
    listener = None
    try:
        # Only of a socket that says it is TCP does asyncio set TCP_NODELAY; without it, answers wait 40 ms for an ACK.
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        if os.name == "posix":  # elsewhere it would share the port with whoever has it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address[0], port, *address[2:]))  # put in here: a lookup would take 70000 for 4464
        listener.listen(backlog)
    except (OSError, OverflowError, UnicodeError) as error:
        if listener is not None:
            listener.close()
        if isinstance(error, socket.gaierror | UnicodeError):
            raise RegardError(f"--host {host}: no such address", do="use 127.0.0.1 for this machine only") from None
        if isinstance(error, OSError) and error.errno == EADDRINUSE:
            do = f"{taken} use another --port, or 0 for any free port"
            raise RegardError(f"port {port} is in use", do=do) from None
        reason = getattr(error, "strerror", None) or error
        raise RegardError(f"{host} port {port}: {str(reason).lower()}", do="use another --host or --port") from None
    return listener


def most_connections() -> int:
    """How many may be open: as many as the system gives us files for, less some for ourselves and for a burst."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 10_000 if hard == resource.RLIM_INFINITY else min(hard, 10_000)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return max(16, wanted - min(wanted // 2, backlog + 200))
    return 1_000


def until_stopped(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM, either of which is an end like any other."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # which uvicorn hands on when all is shut
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
