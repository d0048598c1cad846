"""`regard data TASK`: what is in a data set, what training would refuse, and what else may be wrong with it."""

from typing import Annotated

import typer

from regard.cli.options import asked
from regard.cli.show import plain, to_json

__all__ = ["run"]

example = "regard data classify --data reviews.csv data.text=Review data.label=Sentiment"


def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task that the data is for.")],
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="Options as for train, for example data.source=de data.target=en."),
    ] = None,
    data: Annotated[
        str, typer.Option("--data", metavar="DATA", help="Data: a file, a folder, train.de,train.en or hf:NAME.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Check data before training.

    Reports how the files were read, counts, lengths, lines that cannot be used, duplicates and leaks between splits.
    Exit code 2 means that training would refuse the data.
    """
    options = asked(task, None, pairs or [], data)
    from regard.api import configure, make_task, read, suited
    from regard.data.problems import faulty
    from regard.data.readlog import NothingReadError
    from regard.data.report import report
    from regard.data.splits import Splits
    from regard.train.refusals import refusals

    config = configure(task, options)
    made, strict = make_task(config), not config["data"]["skip"]
    name = config["data"]["train"] or made.default_data
    try:
        splits = read(made, {**config, "data": {**config["data"], "skip": True}})  # every bad line, not only the first
    except NothingReadError as error:
        if not error.log.faults:
            raise
        splits = Splits([])
        splits.notes.extend(error.log.notes())
        splits.faults.extend(error.log.faults)
    errors = faulty(splits.faults) if strict else []
    skipped = {str(fault) for fault in splits.faults if strict}  # they are errors, and no notes
    splits.notes[:] = [note for note in splits.notes if note not in skipped]
    if splits.train:
        config, _ = suited(made, options, config, splits)
        errors += refusals(make_task(config), splits, name)
    found, prepared = report(splits, made.fields, errors), made.prepared_lines(splits.train)
    if as_json:
        print(to_json({**found.to_dict(), **({"prepared": prepared} if prepared else {})}))
    else:
        print("\n".join(map(plain, [name, *str(found).split("\n"), *([""] if prepared else []), *prepared])))
    if found.refused:
        raise typer.Exit(2)
