"""`regard evaluate RUN`: every measure of the task, on the run's own test split or on a file."""

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from regard.cli.options import search
from regard.cli.show import figures, plain, to_json
from regard.errors import RegardError, counted
from regard.ranges import Hypotheses, range_of

if TYPE_CHECKING:
    from regard.api import Model
    from regard.types import Example

__all__ = ["read_as_trained", "run"]

example = "regard evaluate runs/translate --split valid --beam 10"


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="Folder of the run.")],
    data: Annotated[
        str, typer.Option("--data", metavar="FILE", help="Evaluate on this file instead of the run's own data.")
    ] = "",
    split: Annotated[
        Literal["test", "valid", "train"] | None,
        typer.Option(help="Split of the run's data (default: test if there is one, else valid)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    beam: Annotated[int | None, typer.Option("--beam", metavar="N", help="Beam size."), range_of(Hypotheses)] = None,
    device: Annotated[str, typer.Option("--device", metavar="DEVICE", help="Device: auto, cpu, cuda or mps.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Allow the run to import your own code.")] = False,
) -> None:
    """Evaluate a trained model. Predictions are decoded as in regard predict."""
    if data and split:
        raise RegardError("--data and --split", expected="only one of them", do="a file has no splits")
    wanted = search(beam)
    from regard.api import load
    from regard.train.doubts import doubts_of

    model = load(folder, device, trust)
    name, examples = (data, read_as_trained(model, data)) if data else _own(model, split)
    results = model.results(examples, **wanted)
    measures, doubts = model.task.measure(results), doubts_of(model, results, examples)
    if as_json:
        more = {"warnings": doubts} if doubts else {}
        print(to_json({"data" if data else "split": name, "examples": len(examples), **measures, **more}))
        return
    note = " (the run has no test set)" if split is None and name == "valid" and not data else ""
    print(f"{plain(name)}{note}, {counted(len(examples), 'example')}")
    print(figures(measures))
    for doubt in doubts:
        print(plain(f"warning: {doubt}; 'regard train --out {shlex.quote(folder)}' shows how to train longer"))


def read_as_trained(model: "Model", path: str) -> "list[Example]":
    """Read as the run's own data was: the same columns under the same names, in the same form."""
    from regard.data.load import load_part

    own, notes = model.config["data"], list[str]()
    named = f"{own.get('source', '')},{own.get('target', '')}".split(",")
    fields = tuple(name.strip() for name in named if name.strip())
    known = getattr(model.task, "known", ())
    examples = load_part(path, model.task.columns, fields, known, own.get("form", "auto"), notes)
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
