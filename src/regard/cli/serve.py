"""`regard serve RUN …`: serves trained runs over HTTP, with a page; requests that arrive together share a batch."""

import os
from typing import Annotated

import typer

from regard.cli.show import plain
from regard.ranges import Number, Range, range_of

__all__ = ["run"]

example = "regard serve runs/translate --port 8000"


def run(
    folders: Annotated[list[str], typer.Argument(metavar="RUN …", help="Folders of the runs.")],
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; other machines need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", help="Port (0: any free port)."), Range(0, 65535)] = 8000,
    token: Annotated[
        str, typer.Option("--token", metavar="TOKEN", help="Token that requests must send; better set as REGARD_TOKEN.")
    ] = "",
    batch: Annotated[
        int, typer.Option("--batch", metavar="N", help="Maximum number of texts per batch."), Range(1, 10**6)
    ] = 32,
    window: Annotated[
        float,
        typer.Option("--window", metavar="MS", help="Milliseconds to wait for a batch to fill."),
        Range(0, 60_000),
    ] = 3.0,
    queue: Annotated[
        int,
        typer.Option("--queue", metavar="N", help="Maximum number of texts in the queue; more are refused."),
        Range(1, 10**6),
    ] = 256,
    texts: Annotated[
        int | None,
        typer.Option(
            "--texts", metavar="N", help="Maximum number of texts per request (default: 64, or --queue if smaller)."
        ),
        Range(1, 10**6),
    ] = None,
    characters: Annotated[
        int, typer.Option("--characters", metavar="N", help="Maximum number of characters per text."), range_of(Number)
    ] = 10_000,
    body: Annotated[
        int, typer.Option("--body", metavar="BYTES", help="Maximum size of a request."), range_of(Number)
    ] = 1 << 20,
    connections: Annotated[
        int,
        typer.Option("--connections", metavar="N", help="Maximum number of connections per client."),
        range_of(Number),
    ] = 256,
    origins: Annotated[
        list[str] | None,
        typer.Option("--allow-origin", metavar="URL", help="Site whose proxy serves this page (repeatable)."),
    ] = None,
    grace: Annotated[
        float,
        typer.Option("--grace", metavar="SECONDS", help="Time to finish queued requests on shutdown."),
        Range(0, 3600),
    ] = 10.0,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Allow the runs to import your own code.")] = False,
) -> None:
    """Serve runs over HTTP, with a web page. The API is documented at /docs. Ctrl-C or SIGTERM finishes
    queued requests and stops."""
    from regard import serving

    def say(address: str, names: list[str]) -> None:
        print(f"{address}  ({plain(', '.join(names))}; Ctrl-C to stop)", flush=True)

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
