"""`regard compare TASK encoder=a,b,c`: several models on the same data with the same budget; one table, one picture."""

from typing import Annotated

import typer

from regard.cli import complete
from regard.cli.options import asked
from regard.cli.show import plain
from regard.ranges import Range

__all__ = ["run"]

example = "regard compare entail encoder=bilstm,disan,resan --seeds 3"


def run(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK", help="Task to train; 'regard list task' shows all tasks.", autocompletion=complete.tasks
        ),
    ],
    pairs: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=A,B…",
            help="Options; several values for one option are compared.",
            autocompletion=complete.parts,
        ),
    ],
    data: Annotated[
        str, typer.Option("--data", metavar="DATA", help="Training data (default: the task's built-in data).")
    ] = "",
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", help="Number of seeds per model."), Range(1, 1000)] = 3,
    jobs: Annotated[
        int, typer.Option("--jobs", metavar="N", help="Number of models to train in parallel."), Range(1, 1000)
    ] = 1,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", metavar="FOLDER", help="Folder for the runs and the table (default: compare/TASK)."
        ),
    ] = "",
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="TOML file with options; KEY=VALUE pairs override it."),
    ] = None,
    time: Annotated[
        str,
        typer.Option(
            "--time",
            metavar="TIME",
            help="Time limit for the whole comparison: 20m, 2h (train.time: for each training).",
        ),
    ] = "",
    no_costs: Annotated[
        bool, typer.Option("--no-costs", help="Do not measure seconds per epoch, seconds per test and memory.")
    ] = False,
    trust: Annotated[bool, typer.Option("--trust", help="Allow the --config file to import your own code.")] = False,
) -> None:
    """Compare models on the same data, time and seeds. Trains every combination of the values, then times each model.

    Scores have 95 % intervals over the seeds; differences within noise are named. Repeat the command to resume.
    """
    from regard.compare import compare, markdown
    from regard.train.progress import Progress

    folder = out or f"compare/{task}"
    try:
        with Progress(lines_every=30.0) as show:
            rows = compare(
                task,
                pairs,
                parse=lambda some: asked(task, config, some, data, trust=trust),
                out=folder,
                seeds=seeds,
                jobs=jobs,
                say=lambda line: print(plain(line), flush=True),
                time=time,
                costs=not no_costs,
                tick=show.part,
            )
    except KeyboardInterrupt:
        print(f"stopped, saved to {plain(folder)}; repeat the command to resume")
        raise
    print("\n" + "\n".join(map(plain, markdown(rows).split("\n"))))
    print(f"\nwritten to {plain(folder)}/table.md, table.json and table.png")
