"""`regard train TASK`: train a model, or resume a training, and show the results."""

import shlex
import signal
import time as clock
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli import complete
from regard.cli.arguments import exists, looks_like_path
from regard.cli.options import asked
from regard.cli.show import figure, figures, looked, plain
from regard.errors import counted

if TYPE_CHECKING:
    from regard.api import Model, Trained
    from regard.types import Example

__all__ = ["run"]

example = "regard train translate --data pairs.tsv --time 5m encoder.hidden=512 attention.score=bilinear"
short = 40  # characters of inputs whose alignment fits on any screen


def run(
    ctx: typer.Context,
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="Task to train; omit it to list all tasks.", autocompletion=complete.tasks),
    ] = None,
    pairs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE",
            help="Options, for example encoder.hidden=512; 'regard list TASK' shows those of a task.",
            autocompletion=complete.parts,
        ),
    ] = None,
    data: Annotated[
        str,
        typer.Option("--data", metavar="DATA", help="Training data: a file, a folder, train.de,train.en or hf:NAME."),
    ] = "",
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder of the run (default: runs/TASK).")] = "",
    config: Annotated[
        str | None,
        typer.Option("--config", metavar="FILE", help="TOML file with options; KEY=VALUE pairs override it."),
    ] = None,
    time: Annotated[
        str, typer.Option("--time", metavar="TIME", help="Time limit from reading the data to testing: 90s, 5m, 1h30m.")
    ] = "",
    start: Annotated[
        str, typer.Option("--start", metavar="RUN", help="Start from the tokenizer, embedding and encoder of this run.")
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over and replace an existing run.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the model, the data and a batch; write nothing.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not show progress.")] = False,
    trust: Annotated[
        bool, typer.Option("--trust", help="Allow the run or the --config file to import your own code.")
    ] = False,
) -> None:
    """Train a model for a task. To resume a stopped run, repeat the command, or give only --out RUN."""
    started = clock.monotonic()
    task, pairs = _named(task, pairs or [], out, trust)
    if task is None:
        from regard.cli.list import tasks

        print(ctx.get_help())
        print(f"\nTasks:\n{tasks()}")
        raise typer.Exit(2)
    options = asked(task, config, pairs, data, time, trust, start)
    if dry_run:
        from regard.cli.dry import show

        show(task, options, out, fresh, trust)
        return
    from regard import api

    if "start" not in options:  # else they depend on that run
        api.configure(task, options)  # an option that is not known is told before the data is read
    trained = api.train(task, out=out, fresh=fresh, quiet=quiet, trust=trust, started=started, **options)
    if not trained.first:
        raise typer.Exit(128 + trained.outcome.stopped if trained.outcome.stopped is not None else 0)
    if trained.outcome.stopped is not None:
        _stopped(trained, ctx.find_root().obj)
        raise typer.Exit(128 + trained.outcome.stopped)
    _ending(trained)


def _named(task: str | None, pairs: list[str], out: str, trust: bool) -> tuple[str | None, list[str]]:
    """The task, or that of the run which is to go on, where only its folder is given; and the pairs."""
    if not out or (task is not None and "=" not in task):
        return task, pairs
    from pathlib import Path

    from regard.train.run import Run

    if not Run.is_in(Path(out)):
        return task, pairs
    return str(Run.open(Path(out), trust).config["task"]), ([] if task is None else [task]) + pairs


def _stopped(trained: "Trained", words: list[str]) -> None:
    again = shlex.join(["regard", *(word for word in words if word != "--fresh")])  # --fresh would begin again
    by = signal.Signals(trained.outcome.stopped or 0).name
    print(
        f"stopped at step {trained.outcome.step:,} by {by}, saved to {plain(str(trained.model.run.folder))}; "
        f"resume with: {plain(again)}"
    )


def _ending(trained: "Trained") -> None:
    """The score, one alignment, where the run lies, what to try next."""
    outcome, model = trained.outcome, trained.model
    folder = str(model.run.folder)
    if not outcome.per_second:
        print(f"this run is already finished, at step {outcome.step:,}")
        print(f"to train longer: {plain(trained.longer)}")
    best = model.task.metrics.best
    if trained.test:
        score = trained.test.get(best)
        first = "" if score is None else f": {best} {figure(score)}"
        whole = len(trained.splits.test)
        part = f"{trained.tested:,} of " if trained.tested < whole else ""
        print(f"test set, {part}{counted(whole, 'example')}{first}")
        print(figures(trained.test))
    else:
        print(f"no test set; best {best} on the validation set: {figure(outcome.best)}")
    chosen = _short([*trained.splits.test, *trained.splits.valid] or [*trained.splits.train[:1000]])
    alone = model.task.target is None  # text that is gone on with: a beginning shows more than a whole
    inputs = chosen.inputs
    if alone:
        inputs = (_beginning(chosen.inputs[0]),) if model.searches else tuple(model.task.tried(chosen))
    [prediction] = model.predict([inputs])
    titles = [field.title(value) for field, value in zip(model.task.inputs.values(), inputs, strict=True)]
    shown = looked(prediction, titles, model.searches, None if alone else chosen.target)
    if trained.warnings:  # where a model that has learned nothing looks would only mislead
        print(f"\n{shown.splitlines()[0]}\n\nThis model has not learned enough:")
        for warning in trained.warnings:
            print(f"  - {plain(warning)}")
    else:
        print(f"\n{shown}")
    parts = [str(model.run.folder / part) for part in model.task.yields]
    also = f", with separate runs in {' and '.join(map(plain, parts))}" if parts else ""
    print(f"\nSaved to {plain(folder)}{also}. Try next:")
    for words in _tries(model, inputs, prediction.look is not None):
        print(plain(f"  {shlex.join(['regard', *words])}"))


def _tries(model: "Model", inputs: Sequence[str], looks: bool) -> Iterator[list[str]]:
    """Commands that work as they are."""
    from regard.data.given import is_given
    from regard.own_code import code_flags

    folder, flags = str(model.run.folder), code_flags(model.config)
    if not any(text.startswith("data:") for text in inputs):  # a picture that is no file
        files = any(field.per_file for field in model.task.inputs.values())
        doubtful = not files and any(exists(text) or looks_like_path(text) or text.split() == [text] for text in inputs)
        texts = [*(["--"] if any(text.startswith("-") for text in inputs) else []), *inputs]
        yield ["predict", folder, *flags, *(["--text"] if doubtful else []), *texts]
        if looks:
            yield ["look", folder, *flags, "-o", "look.html", *texts]
    if not is_given(str(model.config["data"]["train"])):
        yield ["evaluate", folder, *flags]


def _beginning(text: str) -> str:
    """The first words of a text."""
    return " ".join(text.split()[:3])


def _short(examples: "list[Example]") -> "Example":
    """The first that is short, else the shortest: one that a person takes in at a glance."""

    def size(example: "Example") -> int:
        return sum(map(len, example.inputs))

    written = [example for example in examples if all(text.strip() for text in example.inputs)] or examples
    return next((e for e in written if size(e) <= short), min(written, key=size))
