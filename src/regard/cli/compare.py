"""`regard compare TASK encoder=a,b,c`: several models on the same data with the same budget; one table, one picture."""

from typing import Annotated

import typer

from regard.cli.options import asked
from regard.cli.show import plain
from regard.ranges import Range

__all__ = ["run"]

example = "regard compare entail encoder=bilstm,disan,resan --seeds 3"


def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="What to learn; regard list task shows all.")],
    pairs: Annotated[
        list[str], typer.Argument(metavar="KEY=A,B…", help="Options; those with several values are compared.")
    ],
    data: Annotated[
        str, typer.Option("--data", metavar="DATA", help="What to train on; else the task's built-in data.")
    ] = "",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="How often each is trained."), Range(1, 1000)] = 3,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", help="How many are trained at a time."), Range(1, 1000)
    ] = 1,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="Where runs and table go.")] = "",
    config: Annotated[str | None, typer.Option("--config", metavar="FILE", help="More options, in TOML.")] = None,
    time: Annotated[str, typer.Option("--time", metavar="TIME", help="Time for each training, as 90s, 5m, 1h.")] = "",
    trust: Annotated[bool, typer.Option("--trust", help="Run code of yours that the --config file names.")] = False,
) -> None:
    """Compare models on equal terms. Every combination of the values given is trained; a stopped one goes on."""
    from regard.compare import compare, markdown

    folder = out or f"compare/{task}"
    try:
        rows = compare(
            task,
            pairs,
            parse=lambda some: asked(task, config, some, data, time, trust),
            out=folder,
            seeds=seeds,
            jobs=jobs,
            say=lambda line: print(plain(line), flush=True),
        )
    except KeyboardInterrupt:
        print(f"stopped, saved in {plain(folder)}; the same command goes on")
        raise
    print("\n" + "\n".join(map(plain, markdown(rows).split("\n"))))
    print(f"\nwritten to {plain(folder)}/table.md, table.json and table.png")
