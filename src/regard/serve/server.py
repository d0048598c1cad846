"""The server process: runs until Ctrl-C or SIGTERM, and then finishes queued requests.

The port is taken first, so that a port in use is told before a model is loaded. When told to stop, requests are
refused with 503 from that moment, what is queued is answered within the grace time, connections are closed, and the
process ends as one that did its work (exit code 0). A second Ctrl-C ends it at once.

    serve(["runs/translate"], port=8000)
"""

import gc
import ipaddress
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from types import FrameType
from typing import Any

import torch
import uvicorn

from regard.api import load
from regard.errors import RegardError
from regard.serve.connection import Crowd, protocol
from regard.serve.guard import Guard
from regard.serve.hosted import names
from regard.serve.limits import ServiceLimits
from regard.serve.listen import backlog, listen, most_connections, until_stopped
from regard.serve.service import Service, ServiceApp
from regard.serve.site import Site

__all__ = ["is_loopback", "serve"]


def serve(
    folders: Sequence[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    limits: ServiceLimits | None = None,
    origins: Sequence[str] = (),
    device: str = "auto",
    trust: bool = False,
    say: Callable[[str, list[str]], None] = lambda address, names: None,
) -> None:
    """Returns when asked to stop; `say` is told the address and the names of the runs once requests are taken."""
    limits = (limits or ServiceLimits()).check()
    local = is_loopback(host)
    if not local and not token:
        raise RegardError(
            f"--host {host} is open to other machines", expected="a token", do="set REGARD_TOKEN, or use --token"
        )
    if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token and token):
        raise RegardError("invalid token", expected="printable ASCII without spaces at either end")
    Site(None, origins)
    called = names(folders)
    with closing(listen(host, port)) as listener:
        models = {name: load(folder, device, trust) for name, folder in zip(called, folders, strict=True)}
        # One core is for whoever listens: threads that fight for it make both slow.
        torch.set_num_threads(max(1, min(torch.get_num_threads(), _cores() - 1)))
        sys.setswitchinterval(0.0005)  # nor may it wait 5 ms for its turn each time a model thinks in Python
        service = Service(models, limits)
        gc.freeze()  # what was loaded stays; looking through all of it for garbage stops every thread for 0.1 s
        gc.set_threshold(20_000, 10, 50)  # a request makes hundreds of objects, and hardly any garbage in cycles
        shown, number = f"[{host}]" if ":" in host else host, listener.getsockname()[1]
        hosts = ("localhost", "127.0.0.1", "[::1]", shown.lower()) if local else None
        guard = Guard(ServiceApp(service), service.room, service.metrics, token, Site(hosts, origins))
        service.start()
        try:
            each = None if local else limits.connections  # on this machine they may all be one proxy's
            crowd = Crowd(limits, most_connections(), each, service.metrics.refused, guard.at_once)
            _run(guard, service, crowd, listener, lambda: say(f"http://{shown}:{number}/", called))
        finally:
            service.stop()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach it."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Server(uvicorn.Server):
    """uvicorn, with the queue drained between the signal and the closing of connections."""

    def __init__(self, config: uvicorn.Config, service: Service, begun: Callable[[], None]) -> None:
        super().__init__(config)
        self.service, self.begun = service, begun

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.begun()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.service.refuse()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self.service.drain(lambda: self.force_exit)
        await super().shutdown(sockets)


def _run(app: Any, service: Service, crowd: Crowd, listener: socket.socket, begun: Callable[[], None]) -> None:
    # Errors reach stderr by the usual logging; requests are not told of.
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        http=protocol(crowd),
        ws="none",
        backlog=backlog,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=2,
        lifespan="off",
    )
    until_stopped(Server(config, service, begun), listener)
