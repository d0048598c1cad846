"""The only gate between names in a run and Python's import.

A configuration may name the user's own classes (`attention.score=my.package.Score`), and using such a name runs its
code. Names that people type are trusted. Names in a run or a config file are not, without `--trust` (`trust=True` in
Python), unless the person named the file of that code with `--code`. `Run.open` and `--config` pass everything they
read through `admit`, and nothing else reads a configuration.

    admit("runs/downloaded", config, trust=False)                     # raises if a name has a dot
    admit("runs/mine", config, trust=set(outside(typed)))             # trusts names that were typed too
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from regard.errors import RegardError

__all__ = ["NAMED", "Trust", "admit", "file_of", "outside"]

# What own_code.py sets in a module whose file a person named.
NAMED = "__regard_code__"

Trust = bool | Collection[str]
"""Everything (True), nothing (False), or only these names."""


FILES = ("from", "titles", "vectors", "weights")


def admit(whose: object, config: Mapping[str, Any], trust: Trust = False) -> None:
    """Raises if a configuration names untrusted code; `whose` names its owner in the message."""
    if trust is True:
        return
    trusted = () if trust is False else trust
    if stranger := next((name for name in outside(config) if name not in trusted and file_of(name) is None), None):
        module, *rest = stranger.removeprefix("builtin:").split(".")
        file = f"--code {module}.py, or " if len(rest) == 1 and module.isidentifier() else ""
        raise RegardError(
            f"{whose} uses {stranger}, which is not part of regard",
            do=f"add {file}--trust (trust=True in Python) if you trust its code",
        )


def file_of(name: str) -> str | None:
    """The file of the code behind a name, if a person named that file with --code."""
    module = sys.modules.get(name.removeprefix("builtin:").rpartition(".")[0])
    return module.__file__ if module is not None and NAMED in vars(module) else None


def outside(config: Mapping[str, Any]) -> Iterator[str]:
    """Everything `regard.find` would import from outside: every name with a dot.

    The tables `data`, `train` and `start` have files, times and numbers, and no parts except a built-in set. The
    options in `FILES` are always files.
    """
    for key, value in config.items():
        if key == "data" and isinstance(value, Mapping):
            if str(value.get("train", "")).startswith("builtin:"):
                yield from _dotted(value["train"])
        elif key not in ("train", "start"):
            yield from _dotted({key: value})


def _dotted(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in FILES or not isinstance(inner, str):
                yield from _dotted(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _dotted(inner)
    elif isinstance(value, str) and "." in value:
        yield from (name for part in value.split(",") if "." in (name := part.strip()))  # several names in one
