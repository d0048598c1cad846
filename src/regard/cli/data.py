"""`regard data TASK`: what a data set holds, and what may be wrong with it. Problems are advice, not errors."""

from typing import Annotated

import typer

from regard.cli.options import asked
from regard.cli.show import plain, to_json

__all__ = ["run"]

example = "regard data translate --data pairs.tsv"


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
    """Check data before training. Reports counts, lengths, duplicates, empty lines and leaks between splits."""
    options = asked(task, None, pairs or [], data)
    from regard.api import configure, read
    from regard.data.report import report
    from regard.find import find

    kind = find("tasks", task)
    config = configure(task, options)
    found = report(read(kind, config), getattr(kind, "labels_of", None))
    if as_json:
        print(to_json(found.to_dict()))
        return
    print(plain(config["data"]["train"] or kind.default_data))
    print("\n".join(map(plain, str(found).split("\n"))))
