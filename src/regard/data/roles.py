"""The names that tasks give to the columns of their data, as options: `data.premise=s1 data.hypothesis=s2`.

They stand for `data.source` and `data.target`, which every task has: the inputs with a comma between, and the target.

    by_role({"text": "Review"}, (("text", "image"), ("label",)))   # {"source": "Review"}
"""

from collections.abc import Mapping, Sequence
from typing import Any

from regard.errors import RegardError
from regard.find import nearest

__all__ = ["by_role"]


def by_role(options: Mapping[str, Any], columns: Sequence[Sequence[str]], known: Sequence[str] = ()) -> dict[str, Any]:
    """The options of `data` with `source` and `target` in place of the task's own names.

    `columns` has the names of each column, the target last; `known` are the other options.
    """
    own = {name: place for place, names in enumerate(columns) for name in names if name not in ("source", "target")}
    for key in options:
        if known and key not in known and key not in own:
            raise RegardError(f"unknown option 'data.{key}'", do=nearest(key, [*known, *own]))
    given = {key: value for key, value in options.items() if key in own}
    found = {key: value for key, value in options.items() if key not in own}
    if not given:
        return found
    names = [""] * len(columns)
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise RegardError(f"data.{key}: got {value!r:.80}", expected="the name of a column")
        if names[own[key]]:
            other = next(one for one in given if own[one] == own[key])
            raise RegardError(f"data.{other} and data.{key}", expected="only one of them, as both name the same column")
        names[own[key]] = str(value)
    sides = {"source": ",".join(names[:-1] or names), "target": names[-1] if len(names) > 1 else ""}
    for side, name in sides.items():
        if name.strip(","):
            if found.get(side):
                key = next(iter(given))
                raise RegardError(f"data.{side} and data.{key}", expected="only one of them", do=f"remove data.{side}")
            found[side] = name
    return found
