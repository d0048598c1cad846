"""Options of a run as tables: one laid over another, listed by dotted name, and those a run may go on with.

merge({"encoder": {"hidden": 64}}, {"encoder": {"layers": 2}})
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from regard.errors import RegardError

__all__ = ["flat", "gone_on", "merge"]

# What may change between two sittings of one run: how long it goes on and where, not what it is.
CHANGEABLE = tuple(
    f"train.{name}" for name in ("epochs", "steps", "time", "patience", "save_every", "device", "threads")
)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Options over options, table by table; a part of another name takes none of the old one's options."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        if isinstance(old, str) and isinstance(value, Mapping) and "name" not in value:
            old = {"name": old}
        if isinstance(old, Mapping) and isinstance(value, str):
            value = {"name": value}
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            renamed = "name" in value and value["name"] != old.get("name", value["name"])
            result[key] = dict(value) if renamed else merge(old, value)
        else:
            result[key] = value
    return result


def flat(config: Mapping[str, Any], path: str = "") -> list[tuple[str, Any]]:
    """Every option with its dotted name."""
    pairs = []
    for key, value in config.items():
        pairs += flat(value, f"{path}{key}.") if isinstance(value, Mapping) else [(path + key, value)]
    return pairs


def gone_on(
    folder: Path,
    begun: Mapping[str, Any],
    asked: Mapping[str, Any],
    configure: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """The options a run goes on with: those it was begun with, and over them what is asked for now, if that may change.

    What was not asked for is not changed: whatever defaults and presets say today, the run keeps what it has.
    `configure` fills in what an older version did not know.
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
