"""A user's own parts, from a Python file: `--code my.py`, and then `encoder=my.MyEncoder`.

The file is imported under its own name, so that configurations, processes and workers find `my` again. Its folder is
added to the end of Python's path, which new processes inherit. To name a file is to trust it; a run only records the
name `my.MyEncoder`, and never imports it by itself.

    load_code("parts/my.py")                 # from now on my.MyEncoder is a name, and trusted
    class_names({"encoder": MyEncoder})      # {"encoder": "my.MyEncoder"}
"""

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regard.errors import RegardError, brief
from regard.reading import missing
from regard.trust import NAMED, file_of, outside

__all__ = ["class_names", "code_flags", "load_code"]


def load_code(path: str) -> None:
    """Imports one Python file, whose parts may then be named."""
    place = Path(os.path.expanduser(path)).absolute()
    name = place.stem
    if place.suffix != ".py" or not name.isidentifier():
        raise RegardError(f"--code {path}", expected="a Python file with the name of a module, as my_parts.py")
    if not place.is_file():
        raise missing(path)
    folder = str(place.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()
    if name in sys.modules:
        there = vars(sys.modules[name]).get("__file__")
    else:
        spec = importlib.util.find_spec(name)
        there = spec.origin if spec is not None else None
    if there is None or not os.path.exists(there) or not place.samefile(there):
        raise RegardError(f"--code {path}: there is another module called {name}", do="rename the file")
    try:
        setattr(importlib.import_module(name), NAMED, True)
    except RegardError:
        raise
    except Exception as error:  # whatever a file may raise
        raise RegardError(f"{_place(error, place)}: {type(error).__name__}: {error}", do="correct the file") from error


def _place(error: Exception, file: Path) -> str:
    """The last line of the file that the error passed through."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return f"{file}:{lines[-1]}" if lines else str(file)


def code_flags(config: Mapping[str, Any]) -> list[str]:
    """What a command needs to open a run of this configuration: --code for each own file, --trust for what is else."""
    files = [file_of(name) for name in outside(config)]
    own = dict.fromkeys(os.path.relpath(file) for file in files if file)
    return [*(word for file in own for word in ("--code", file)), *(["--trust"] if None in files else [])]


def class_names(options: Any) -> Any:
    """Options with the name of each class in place of the class: `encoder=MyEncoder` is `encoder="my.MyEncoder"`."""
    if isinstance(options, type):
        if "<" in options.__qualname__ or "." in options.__qualname__:
            raise RegardError(f"got {brief(options)}", expected="a class defined at the top level of a module")
        module, _, last = options.__module__.rpartition(".")
        ours = module == "regard" or module.startswith("regard.")
        return last if ours else f"{options.__module__}.{options.__qualname__}"
    if isinstance(options, Mapping):
        return {key: class_names(value) for key, value in options.items()}
    return [class_names(one) for one in options] if isinstance(options, list | tuple) else options
