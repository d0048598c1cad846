"""Completion in the shell: tasks, and the names of parts after `encoder=`. `regard --install-completion` sets it up.

Names are read off the folders of regard, so that nothing heavy is imported between two key strokes.

    parts("encoder=bi")     # ["encoder=bigru", "encoder=bilstm"]
"""

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import Any

import regard

__all__ = ["VARIABLE", "complete", "parts", "tasks"]

VARIABLE = "_REGARD_COMPLETE"  # what the shell sets to ask for completions

# The folder of the parts that an option names.
FOLDERS = {
    "attention.bias": "attend/bias",
    "attention.normalizer": "attend/normalizer",
    "attention.score": "attend/score",
    "decoder": "predict/generate",
    "encoder": "encode",
    "input": "fields",
    "input.tokenizer": "text",
    "match": "predict/match",
    "metrics": "measure",
    "network": "predict/language",
    "pool": "pool",
    "search": "search",
    "source": "fields",
    "source.tokenizer": "text",
    "target.tokenizer": "text",
    "text.tokenizer": "text",
}


def names(folder: str) -> list[str]:
    """The names of the parts of a folder."""
    files = (Path(regard.__file__).parent / folder).glob("[!_]*.py")
    return sorted(file.stem for file in files)


def tasks(incomplete: str) -> list[str]:
    return [name for name in names("tasks") if name.startswith(incomplete)]


def parts(incomplete: str) -> list[str]:
    """What `incomplete` may become: an option with its part, of which there may be several with commas."""
    key, equals, value = incomplete.partition("=")
    if not equals:
        return [f"{one}=" for one in FOLDERS if one.startswith(key)]
    before, comma, last = value.rpartition(",")
    known = names(FOLDERS[key]) if key in FOLDERS else []
    return [f"{key}={before}{comma}{name}" for name in known if name.startswith(last)]


def complete(command: Any) -> None:
    """Answers the shell, as Typer does. bash takes `encoder=bi` for three words; it is given the last of them."""
    cut = _joined() if os.environ[VARIABLE] == "complete_bash" else ""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        command.main(args=[], prog_name="regard", complete_var=VARIABLE)
    sys.stdout.write("".join(line.removeprefix(cut) for line in said.getvalue().splitlines(keepends=True)))


def _joined() -> str:
    """Puts `encoder`, `=` and `bi` together where bash has split them; returns what it has already."""
    words = os.environ.get("COMP_WORDS", "").split("\n")
    place = int(os.environ.get("COMP_CWORD", "0"))
    words = [*words, ""][: place + 1]
    if len(words) < 3 or "=" not in words[-2:]:
        return ""
    first = len(words) - (2 if words[-1] == "=" else 3)
    key, value = words[first], "" if words[-1] == "=" else words[-1]
    os.environ["COMP_WORDS"] = "\n".join([*words[:first], f"{key}={value}"])
    os.environ["COMP_CWORD"] = str(first)
    return f"{key}="
