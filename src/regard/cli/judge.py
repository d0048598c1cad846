"""`regard judge A B --source S`: people score and rank outputs on a local page; `--report` prints the results."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.show import plain, table, to_json
from regard.errors import RegardError, counted
from regard.ranges import Number, Range, Seed, range_of

__all__ = ["run"]

example = "regard judge a.txt b.txt --source source.txt --judge ana"


def run(
    ctx: typer.Context,
    outputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="A B …", help="Output files of 2 to 9 systems, one line per source line."),
    ] = None,
    source: Annotated[str, typer.Option("--source", metavar="FILE", help="File with the inputs of the systems.")] = "",
    reference: Annotated[
        str, typer.Option("--reference", metavar="FILE", help="File with reference outputs to show.")
    ] = "",
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="File for the judgements.")
    ] = "judgements.sqlite",
    judge: Annotated[str, typer.Option("--judge", metavar="NAME", help="Name of the judge.")] = "judge",
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", help="Judge N lines, drawn at random (default: all)."),
        range_of(Number),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="S", help="Random seed for the lines and the order of outputs (default: 0)."),
        range_of(Seed),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", help="Port on 127.0.0.1 (0: any free port)."), Range(0, 65535)
    ] = 8765,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    report: Annotated[
        str, typer.Option("--report", metavar="FILE", help="Report the results of a file of judgements.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
) -> None:
    """Let people judge outputs, blind and side by side. They rate adequacy and fluency and rank the outputs."""
    if report:
        if outputs or source or reference:
            raise RegardError(
                "--report and files to judge", expected="only one of them", do="--report needs only its own file"
            )
        _report(report, as_json)
        return
    if as_json:
        raise RegardError("--json without --report", do="add --report FILE")
    if not outputs or not source:
        raise RegardError(
            "no outputs to judge" if not outputs else "no --source",
            expected="regard judge A.txt B.txt --source SOURCE.txt",
            do="or use --report FILE to see the results",
        )
    from regard import judging

    kept = Path(out).expanduser()

    def say(address: str, stand: Any) -> None:
        print(f"{address}  ({stand.done:,} of {counted(stand.lines, 'line')} done; Ctrl-C to stop)", flush=True)

    options: dict[str, Any] = {"port": port, "seed": seed, "count": count, "show": show, "say": say}
    stand = judging.judge(outputs, source, reference or None, kept, judge, **options)
    print(f"\n{counted(stand.marks, 'mark')} saved to {plain(out)}; {stand.done:,} of {stand.lines:,} lines done")
    print(f"resume:  {plain(shlex.join(['regard', *ctx.obj]))}")
    print(f"report:  {plain(shlex.join(['regard', 'judge', '--report', out]))}")


def _report(path: str, as_json: bool) -> None:
    from regard import judging

    found = judging.results(Path(path).expanduser())
    if as_json:
        print(to_json(found))
        return
    judges, lines = found["judges"], found["lines"]
    print(
        f"{counted(len(judges), 'judge')}, {lines['judged']:,} of {counted(lines['of'], 'line')}, "
        f"{counted(found['marks'], 'mark')}"
    )
    print("\n" + table([("system", "adequacy", "fluency", "mean rank"), *map(_system, found["systems"])]))
    pairs = [
        (f"{plain(one)} vs. {plain(two)}", *(_share(pair[what]) for what in ("wins", "ties", "losses")), _of(pair))
        for pair in found["pairs"]
        for one, two in [pair["systems"]]
    ]
    print("\n" + table([("", "wins", "ties", "losses", ""), *pairs]))
    whats = ("adequacy", "fluency", "better")
    said = [("all judges, Krippendorff's α", found["alpha"])]
    said += [(f"{plain(' and '.join(pair['judges']))}, Cohen's κ", pair) for pair in found["kappa"]]
    rows = [(who, *(_figure(of[what]) for what in whats)) for who, of in said]
    print("\n" + table([("agreement", "adequacy", "fluency", "which is better"), *rows]))


def _system(of: dict[str, Any]) -> tuple[str, ...]:
    return plain(of["name"]), _mean(of["adequacy"]), _mean(of["fluency"]), _figure(of["rank"])


def _mean(of: dict[str, Any]) -> str:
    if of["low"] is None:
        return _figure(of["mean"])
    return f"{_figure(of['mean'])} [{_figure(of['low'])}, {_figure(of['high'])}]"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _of(pair: dict[str, Any]) -> str:
    return f"of {counted(pair['judged'], 'comparison')}"
