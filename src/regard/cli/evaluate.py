"""`regard evaluate RUN`: every measure of the task, on the run's own test split or on a file."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from regard.cli.options import search
from regard.cli.show import count, figures, plain, to_json
from regard.errors import RegardError

if TYPE_CHECKING:
    from regard.api import Model
    from regard.types import Example

__all__ = ["run"]

example = "regard evaluate runs/translate --split valid --beam 10"


def run(
    folder: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run.")],
    data: Annotated[str, typer.Option(metavar="FILE", help="Measure on this file instead of the run's own data.")] = "",
    split: Annotated[
        Literal["test", "valid", "train"] | None, typer.Option(help="Which part of the run's data; test if it has one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object and nothing else.")] = False,
    beam: Annotated[int | None, typer.Option(metavar="N", help="Search with a beam of this width.")] = None,
    device: Annotated[str, typer.Option(metavar="DEVICE", help="auto, cpu or cuda.")] = "auto",
    trust: Annotated[bool, typer.Option("--trust", help="Run code of yours that the run names.")] = False,
) -> None:
    """Measure a trained model, with real decoding."""
    if data and split:
        raise RegardError("--data and --split", expected="one of them", do="a file is measured whole")
    wanted = search(beam)
    from regard.api import load

    model = load(folder, device, trust)
    name, examples = (data, _file(model, data)) if data else _own(model, split)
    measures = model.evaluate(examples, **wanted)
    if as_json:
        print(to_json({"data" if data else "split": name, "examples": len(examples), **measures}))
        return
    note = " (the run has no test split)" if split is None and name == "valid" and not data else ""
    print(f"{plain(name)}{note}, {count(len(examples), 'example')}")
    print(figures(measures))


def _file(model: "Model", path: str) -> "list[Example]":
    """Read as the run's own data was: the same columns under the same names."""
    from regard.data.load import load_part

    own = model.config["data"]
    fields = f"{own['source']},{own['target']}".split(",") if own.get("source") else ()
    return load_part(path, model.task.columns, tuple(field.strip() for field in fields))


def _own(model: "Model", split: str | None) -> "tuple[str, list[Example]]":
    splits = model.data()
    name = split or ("test" if splits.test else "valid")
    examples: list[Example] = getattr(splits, name)
    if not examples:
        raise RegardError(f"{model.run.folder} has no {name} split", do="choose another --split, or a file with --data")
    return name, examples
