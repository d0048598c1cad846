"""Everything in the data that training would refuse, at once.

for problem in refusals(task, splits, "pairs.tsv"): print(problem)
"""

from collections.abc import Callable, Sequence

from regard.data.problems import Problem
from regard.data.splits import Splits
from regard.errors import RegardError, counted
from regard.train.task import Task
from regard.types import Example

__all__ = ["refusals"]

shown = 3  # places of each kind
most = 100_000  # examples that are tried one by one


def refusals(task: Task, splits: Splits, name: str) -> list[Problem]:
    """A task that has learned nothing yet learns here as it would in training; `name` is what the data is called."""
    found = _refused(task, "train", splits.train, task.learn)
    for part in ("valid", "test") if not found else ():
        found += _refused(task, part, getattr(splits, part), task.items)
    try:
        splits.validates(name)
    except RegardError as error:
        found.append(_whole("split", name, error))
    return found


def _refused(
    task: Task, part: str, examples: Sequence[Example], take: Callable[[Sequence[Example]], object]
) -> list[Problem]:
    if not examples:
        return []
    try:
        take(examples)
    except RegardError as error:
        each = [why for example in examples[:most] if (why := _why(task, example))]
        found: list[Problem] = []
        if each:
            found = [
                Problem(
                    "value",
                    part,
                    len(each),
                    f"{counted(len(each), 'example')} that the model cannot take",
                    tuple(each[:shown]),
                    "repair or remove them",
                    "error",
                )
            ]
        if not any(why.rpartition(": ")[2] in str(error) for why in each):
            found.append(_whole("learn", part, error))
        return found
    return []


def _whole(kind: str, part: str, error: RegardError) -> Problem:
    """A problem of the whole part."""
    return Problem(kind, part, 1, str(error).removeprefix(f"{part}: "), (), "", "error")


def _why(task: Task, example: Example) -> str:
    """Why an example cannot be used."""
    try:
        task.encode(task.prepared([example]))
    except RegardError as error:
        return str(error)
    except Exception:  # nothing was learned that it could be encoded with
        return ""
    return ""
