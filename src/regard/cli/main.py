"""`regard COMMAND …`: finds the command, runs it, and reports errors in one line.

A command is a file of this folder with a function `run`; its docstring is the help, its parameters are the
options. A user error is one line on stderr and exit code 2; `--debug` shows the traceback instead.

    regard train translate --time 5m
"""

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_args

import typer
from typer.models import OptionInfo

from regard import __version__
from regard.cli.complete import VARIABLE, complete
from regard.cli.show import plain
from regard.cli.trouble import told
from regard.errors import RegardError
from regard.find import nearest
from regard.own_code import load_code
from regard.ranges import range_of, within

__all__ = ["answer", "main"]

# In the order of the help.
commands = (
    "train",
    "compare",
    "evaluate",
    "predict",
    "look",
    "align",
    "faithful",
    "data",
    "serve",
    "judge",
    "list",
    "info",
)


class Command(typer.core.TyperCommand):
    """One of them; its function may ask for a `typer.Context`, and is given one."""

    context_class = typer.Context


class Commands(typer.core.TyperGroup):
    """All of them; a wrong name suggests the nearest."""

    context_class = typer.Context

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            raise RegardError(f"no command named {args[0]!r}", do=nearest(args[0], self.commands))
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="Train sequence models built on attention, predict with them, and see what they attend to.",
    epilog="Get started: regard train translate --time 2m",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> bool:
    if wanted:
        print(f"regard {__version__}")
        raise typer.Exit
    return wanted


@app.callback(invoke_without_command=True)
def _top(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (allowed anywhere in the command).")] = False,
) -> None:
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


Code = Annotated[
    list[str],
    typer.Option(
        "--code", metavar="FILE.py", help="Import your own parts from this file: --code my.py encoder=my.MyEncoder."
    ),
]


def _with_code(run: Callable[..., None]) -> Callable[..., None]:
    """A command that may import code by name also takes the files of that code, and imports them first."""
    known = signature(run)
    if "trust" not in known.parameters:
        return run

    @wraps(run)
    def coded(**given: Any) -> None:
        for path in given.pop("code") or ():
            load_code(path)
        run(**given)

    code = Parameter("code", Parameter.KEYWORD_ONLY, default=[], annotation=Code)
    coded.__signature__ = known.replace(parameters=[*known.parameters.values(), code])  # type: ignore[attr-defined]
    coded.__annotations__ = {**run.__annotations__, "code": Code}
    return coded


def _in_range(run: Callable[..., None]) -> Callable[..., None]:
    """The command, which first refuses numbers outside the ranges of its options."""
    kinds = {name: p.annotation for name, p in signature(run).parameters.items() if range_of(p.annotation)}
    flags = {name: next(m for m in get_args(kind) if isinstance(m, OptionInfo)) for name, kind in kinds.items()}

    @wraps(run)
    def checked(**given: Any) -> None:
        for name, kind in kinds.items():
            if given[name] is not None:
                within(str(flags[name].default), given[name], kind)
        run(**given)

    return checked


for _command in commands:
    _module = importlib.import_module(f"regard.cli.{_command}")
    app.command(_command, epilog=f"Example: {_module.example}", cls=Command)(_with_code(_in_range(_module.run)))


def answer(argv: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    words = list(argv)
    own = words[: words.index("--")] if "--" in words else words  # after "--" all is the user's text
    debug = "--debug" in own
    words = [word for word in own if word != "--debug"] + words[len(own) :]
    command = typer.main.get_command(app)
    try:
        code = 0
        try:
            with command.make_context("regard", words, obj=list(argv)) as ctx:
                command.invoke(ctx)
        except typer.Exit as end:
            code = end.exit_code
        except SystemExit as end:  # how Typer ends once completion is installed
            code = int(end.code or 0)
        sys.stdout.flush()
        return code
    except (Exception, KeyboardInterrupt) as error:
        code, line = told(error)
        if debug and not isinstance(error, KeyboardInterrupt):
            sys.excepthook(type(error), error, error.__traceback__)
        elif line:
            print(f"regard: {plain(line)}", file=sys.stderr)
        return code


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter shows its number
            stream.reconfigure(errors="backslashreplace")
    if VARIABLE in os.environ:
        complete(typer.main.get_command(app))
        return
    code = answer(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError:  # the reader is gone, or the disk full: what is left would only be tried, and told of, again
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
    sys.exit(code)
