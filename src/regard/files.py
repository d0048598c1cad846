"""Atomic file writes: a reader never sees half a file, even if the writer is killed.

write_whole(folder / "card.md", text)
with new_folder(runs / "translate") as making: ...
"""

import contextlib
import errno
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

__all__ = ["finite", "new_folder", "read_whole", "ready", "regular", "sweep", "sync", "tables", "write_whole"]

DOTS = 100  # in one line of TOML


def finite(value: Any) -> Any:
    """Replaces NaN and infinity by null, since JSON has neither."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(one) for key, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def sync(path: Path) -> None:
    """Flushes a file or folder to disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def regular(path: Path, most: int | None = None) -> Iterator[BufferedReader]:
    """Opens a regular file of at most `most` bytes; devices and pipes are refused."""
    kind = path.stat()
    if not stat.S_ISREG(kind.st_mode) and not stat.S_ISDIR(kind.st_mode):  # a folder is told by the system
        raise RegardError(f"{path} is not a regular file")
    if most is not None and stat.S_ISREG(kind.st_mode) and kind.st_size > most:
        raise RegardError(f"{path} has {kind.st_size:,} bytes", expected=f"at most {most:,}")
    with path.open("rb") as file:
        yield file


def read_whole(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes."""
    with regular(path, most) as file:
        return file.read(most)


def tables(content: bytes) -> dict[str, Any]:
    """The tables of a TOML file. Keys with many parts (a.a.a.a) are refused: 64 KiB of them cost tomllib 4 GiB."""
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.count(b".") > DOTS:
            raise tomllib.TOMLDecodeError(f"More than {DOTS} dots (at line {number}, column 1)")
    return tomllib.loads(content.decode("utf-8"))


def write_whole(path: Path, content: str | bytes) -> Path:
    """Writes to a temporary file, then renames it."""
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


def ready(folder: Path) -> None:
    """Makes a folder and checks that it can be written to, before minutes of work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise RegardError(f"cannot write to {str(folder)!r} ({error.strerror})", do="use another --out") from None


def sweep(folder: Path) -> None:
    """Removes temporary files of killed writers from a folder that no other process uses."""
    for left in folder.glob(".*.tmp-*"):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder that is filled under a temporary name and then renamed; `path` must not exist, or be empty."""
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
