"""`regard serve RUN …`: trained runs behind HTTP, with a page; requests that come together are answered together."""

import os
from typing import Annotated

import typer

from regard.cli.show import plain
from regard.ranges import Number, Range, range_of

__all__ = ["run"]

example = "regard serve runs/translate --port 8000"


def run(
    folders: Annotated[list[str], typer.Argument(metavar="RUN …", help="Folders of runs.")],
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; beyond this machine only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="0 takes any that is free."), Range(0, 65535)] = 8000,
    token: Annotated[
        str, typer.Option("--token", metavar="TOKEN", help="What requests must show; better set as REGARD_TOKEN.")
    ] = "",
    batch: Annotated[
        int, typer.Option("--batch", metavar="N", help="Texts answered together at most."), Range(1, 10**6)
    ] = 32,
    window: Annotated[
        float,
        typer.Option("--window", metavar="MS", help="Milliseconds a text waits for others to join it."),
        Range(0, 60_000),
    ] = 3.0,
    queue: Annotated[
        int, typer.Option("--queue", metavar="N", help="Texts that may wait; more are refused."), Range(1, 10**6)
    ] = 256,
    texts: Annotated[
        int | None,
        typer.Option("--texts", metavar="N", help="Texts in one request at most; 64, or the queue."),
        Range(1, 10**6),
    ] = None,
    characters: Annotated[
        int, typer.Option("--characters", metavar="N", help="Characters of one text at most."), range_of(Number)
    ] = 10_000,
    body: Annotated[
        int, typer.Option("--body", metavar="BYTES", help="Size of one request at most."), range_of(Number)
    ] = 1 << 20,
    connections: Annotated[
        int,
        typer.Option("--connections", metavar="N", help="Connections of one other machine at most."),
        range_of(Number),
    ] = 256,
    origins: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", metavar="URL", help="A site whose proxy shows this page; may be repeated."),
    ] = None,
    grace: Annotated[
        float,
        typer.Option("--grace", metavar="SECONDS", help="Time to finish what is queued when told to stop."),
        Range(0, 3600),
    ] = 10.0,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Run code of yours that the runs name.")] = False,
) -> None:
    """Serve runs over HTTP, with a page. The API is told of at /docs; SIGTERM or Ctrl-C finishes what is queued."""
    from regard import serving

    def say(address: str, names: list[str]) -> None:
        print(f"{address}  ({plain(', '.join(names))}; Ctrl-C stops)", flush=True)

    serving.serve(
        folders,
        {
            "batch": batch,
            "window": window / 1000,
            "queue": queue,
            "texts": min(64, queue) if texts is None else texts,
            "characters": characters,
            "body": body,
            "connections": connections,
            "grace": grace,
        },
        host=host,
        port=port,
        origins=origins or (),
        token=token or os.environ.get("REGARD_TOKEN") or None,
        device=device,
        trust=trust,
        say=say,
    )
