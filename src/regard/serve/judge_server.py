"""The page for a judge, served until Ctrl-C.

The port is taken before the file of judgements is made, so a port in use leaves nothing behind.

    serve(read_sheet(["a.txt", "b.txt"], "source.txt"), Path("judgements.sqlite"), "ana")
"""

import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread

import uvicorn

from regard.serve.connection import Crowd, protocol
from regard.serve.judge import Session, Stand, judge_app, limits
from regard.serve.judge_sheet import Sheet
from regard.serve.judge_store import begin
from regard.serve.listen import listen, most_connections, until_stopped

__all__ = ["serve"]

here = "127.0.0.1"


def serve(
    sheet: Sheet,
    out: Path,
    judge: str,
    *,
    port: int = 8765,
    seed: int | None = None,
    count: int | None = None,
    show: bool = False,
    say: Callable[[str, Stand], None] = lambda address, stand: None,
) -> Stand:
    """Returns when asked to stop (Ctrl-C, SIGTERM); `say` is told the address and how far the judge has come."""
    taken = "is another 'regard judge' running?"
    with closing(listen(here, port, taken)) as listener, begin(out, sheet, seed, count) as store:
        session = Session(sheet, store, judge)
        address = f"http://{here}:{listener.getsockname()[1]}/"
        say(address, session.stand())
        if show and _has_screen():
            # Aside, for a browser may hold the caller until it is closed.
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        _run(session, listener)
        return session.stand()


def _run(session: Session, listener: socket.socket) -> None:
    # Errors reach stderr by the usual logging; requests are not told of. Half a connection may not keep us.
    config = uvicorn.Config(
        judge_app(session),
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        http=protocol(Crowd(limits, most_connections())),
        ws="none",
        timeout_graceful_shutdown=2,
        lifespan="off",
    )
    until_stopped(uvicorn.Server(config), listener)


def _has_screen() -> bool:
    """Without one, `webbrowser` would start a browser in the terminal that is ours."""
    return not sys.platform.startswith("linux") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
