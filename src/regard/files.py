"""Files written whole or not at all: a reader never sees half of one, whatever kills the writer.

write_whole(folder / "card.md", text)
with new_folder(runs / "translate") as making: ...
"""

import contextlib
import math
import os
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

from regard.errors import RegardError

__all__ = ["finite", "new_folder", "read_whole", "regular", "sweep", "sync", "tables", "write_whole"]

DOTS = 100  # in one line of TOML


def finite(value: Any) -> Any:
    """JSON has no word for what is not a finite number: null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(one) for key, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def sync(path: Path) -> None:
    """Ask the system to put a file, or the names in a folder, on the disk for good."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def regular(path: Path, most: int | None = None) -> Iterator[BufferedReader]:
    """A file to read from. A device or a pipe, which may never end, is refused, and so are more than `most` bytes."""
    kind = path.stat()
    if not stat.S_ISREG(kind.st_mode) and not stat.S_ISDIR(kind.st_mode):  # a folder is told by the system
        raise RegardError(f"{path} is not a regular file")
    if most is not None and stat.S_ISREG(kind.st_mode) and kind.st_size > most:
        raise RegardError(f"{path} has {kind.st_size:,} bytes", expected=f"at most {most:,}")
    with path.open("rb") as file:
        yield file


def read_whole(path: Path, most: int) -> bytes:
    """The content of a regular file of at most so many bytes."""
    with regular(path, most) as file:
        return file.read(most)


def tables(content: bytes) -> dict[str, Any]:
    """The tables of a TOML file. A key of many parts, as a.a.a.a, is refused: 64 KiB of it take tomllib 4 GiB."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.count(b".") > DOTS:
            raise tomllib.TOMLDecodeError(f"More than {DOTS} dots (at line {number}, column 1)")
    return tomllib.loads(content.decode("utf-8"))


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write beside the place, then move there in one step."""
    data = content.encode() if isinstance(content, str) else content
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.tmp-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # mkstemp makes private files; these are ordinary ones
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    sync(path.parent)
    return path


def sweep(folder: Path) -> None:
    """Clear away what killed writers left half-made in a folder that is nobody else's at this moment."""
    for left in folder.glob(".*.tmp-*"):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder filled out of sight and then moved to its place; `path` must not exist, or be empty."""
    path.parent.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.tmp-"))
    try:
        yield making
        for file in making.iterdir():
            if file.is_file():
                sync(file)
        making.chmod(0o755)
        sync(making)
        os.rename(making, path)
        sync(path.parent)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
