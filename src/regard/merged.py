"""Options of a run as tables: merged, listed by dotted name, and checked when a run is resumed.

merge({"encoder": {"hidden": 64}}, {"encoder": {"layers": 2}})
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.find import flat, merge

__all__ = ["flat", "gone_on", "merge"]

# What may change between two sittings of one run: how long it goes on, where, and what is kept; not what it is.
CHANGEABLE = tuple(
    f"train.{name}"
    for name in (
        *("epochs", "steps", "time", "patience", "save_every"),
        *("device", "threads", "workers", "report_to", "keep_examples"),
    )
)


def gone_on(
    folder: Path,
    begun: Mapping[str, Any],
    asked: Mapping[str, Any],
    configure: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """The options of a resumed run: its own, updated with those given now, if they may change.

    Options that are not given keep the run's value, whatever today's defaults and presets are.
    `configure` fills in options that an older version did not have.
    """

    def refused(key: str, before: Any, now: Any) -> RegardError:
        name = key.removesuffix(".name")
        return RegardError(
            f"{folder} was started with {name}={before}, not {now}", do="use another --out, or --fresh to start over"
        )

    if asked["task"] != begun["task"]:
        raise refused("task", begun["task"], asked["task"])
    try:
        before = dict(flat(configure(begun)))
    except RegardError as error:
        raise RegardError(
            f"{folder} was started with options that this version does not accept ({error})",
            do="use another --out, or --fresh to start over",
        ) from None
    options = merge(begun, asked)
    now = dict(flat(configure(options)))
    for key in sorted(before.keys() | now.keys(), key=lambda key: (not key.endswith(".name"), key)):
        if before.get(key) != now.get(key) and key not in CHANGEABLE:
            raise refused(key, before.get(key), now.get(key))
    return options
