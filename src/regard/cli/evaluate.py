"""`regard evaluate RUN`: every measure of the task, on the run's own test split or on a file; with `--errors` a report
of where the model goes wrong."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from regard.cli.options import search
from regard.cli.show import figures, plain, to_json
from regard.errors import RegardError, counted
from regard.files import ready
from regard.ranges import Hypotheses, range_of

if TYPE_CHECKING:
    from regard.api import Model
    from regard.types import Example

__all__ = ["read_as_trained", "run"]

example = "regard evaluate runs/translate --split valid --beam 10 --errors"


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Folder of the run.")],
    data: Annotated[
        str, typer.Option("--data", metavar="FILE", help="Evaluate on this file instead of the run's own data.")
    ] = "",
    split: Annotated[
        Literal["test", "valid", "train"] | None,
        typer.Option(help="Split of the run's data (default: test if there is one, else valid)."),
    ] = None,
    errors: Annotated[
        bool,
        typer.Option("--errors", help="Also write an error report: worst examples, scores by length and label, plots."),
    ] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the error report (default: RUN/errors).")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    beam: Annotated[int | None, typer.Option("--beam", metavar="N", help="Beam size."), range_of(Hypotheses)] = None,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Allow the run to import your own code.")] = False,
) -> None:
    """Evaluate a trained model, with all metrics of its task. Predictions are decoded as in regard predict.

    --errors writes a page with the worst examples, confusions, and scores by input length and by label.
    """
    if data and split:
        raise RegardError("--data and --split", expected="only one of them", do="a file has no splits")
    if out and not errors:
        raise RegardError("--out without --errors", do="add --errors to write a report")
    wanted = search(beam)
    from regard.api import load
    from regard.data.references import grouped
    from regard.train.doubts import doubts_of

    model = load(folder, device, trust)
    place = Path(out or f"{folder}/errors")
    if errors:
        ready(place)
    name, examples = (data, read_as_trained(model, data)) if data else _own(model, split)
    if data and model.config["data"].get("group"):
        examples = grouped(examples)
    results = model.results(examples, **wanted)
    measures, doubts = model.task.measure(results), doubts_of(model, results, examples)
    report: dict[str, Any] = {}
    if errors:
        from regard.error_analysis import analyse, write

        report = analyse(model, examples, results) | {"data": name}
        write(report, model, place)
    if as_json:
        more: dict[str, Any] = {"warnings": doubts} if doubts else {}
        more |= {"errors": str(place)} if errors else {}
        print(to_json({"data" if data else "split": name, "examples": len(examples), **measures, **more}))
        return
    note = " (the run has no test set)" if split is None and name == "valid" and not data else ""
    print(f"{plain(name)}{note}, {counted(len(examples), 'example')}")
    print(figures(measures))
    for doubt in doubts:
        print(plain(f"warning: {doubt}; 'regard train --out {shlex.quote(folder)}' shows how to train longer"))
    if errors:
        print(f"error report: {plain(str(place / 'index.html'))}, with plots and errors.json beside it")


def read_as_trained(model: "Model", path: str) -> "list[Example]":
    """Read as the run's own data was; what is to be known of it goes to stderr."""
    examples, notes = model.examples(path)
    for note in notes:
        print(plain(note), file=sys.stderr)
    return examples


def _own(model: "Model", split: str | None) -> "tuple[str, list[Example]]":
    splits = model.data()
    name = split or ("test" if splits.test else "valid")
    examples: list[Example] = getattr(splits, name)
    if not examples:
        raise RegardError(
            f"{model.run.folder} has no {name} split", do="use another --split, or give a file with --data"
        )
    return name, examples
