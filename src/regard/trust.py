"""The one gate between what a run names and Python's import.

A configuration may name classes of the user's own (`attention.score=my.package.Score`), and to use such a name is to
run its code. What people type themselves they trust. What a run or a file of options names is somebody else's until
they say so: `--trust`, or `trust=True` in Python. `Run.open` and `--config` pass everything they read through `admit`,
and nothing else reads a configuration; so none reaches `regard.find` unless all that it names may be imported.

    admit("runs/downloaded", config, trust=False)                     # raises where a name has a dot
    admit("runs/mine", config, trust=set(outside(typed)))             # but what was typed as well is trusted
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from regard.errors import RegardError

__all__ = ["Trust", "admit", "outside"]

Trust = bool | Collection[str]
"""Everything (True), nothing (False), or only these names."""


def admit(whose: object, config: Mapping[str, Any], trust: Trust = False) -> None:
    """Raise where a configuration names code that is not trusted; `whose` it is, for the message."""
    if trust is True:
        return
    trusted = () if trust is False else trust
    if stranger := next((name for name in outside(config) if name not in trusted), None):
        raise RegardError(
            f"{whose} uses {stranger}, which is not part of regard",
            do="add --trust (trust=True in Python) if you trust its code",
        )


def outside(config: Mapping[str, Any]) -> Iterator[str]:
    """All that `regard.find` would import from elsewhere: every name with a dot.

    The tables `data` and `train` hold files, times and numbers, and no parts but for a set that is made. An option
    `vectors` is always a file.
    """
    for key, value in config.items():
        if key == "data" and isinstance(value, Mapping):
            if str(value.get("train", "")).startswith("builtin:"):
                yield from _dotted(value["train"])
        elif key != "train":
            yield from _dotted({key: value})


def _dotted(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key != "vectors" or not isinstance(inner, str):
                yield from _dotted(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _dotted(inner)
    elif isinstance(value, str) and "." in value:
        yield from (name for part in value.split(",") if "." in (name := part.strip()))  # several names in one
