"""Reads user files safely: errors are one clear line, and memory is bounded.

There are three limits. Only files are read, not devices or named pipes. A line has at most `longest` bytes. A `.gz`
file may decompress to `unpacked` bytes, or to `ratio` times its own size if that is more. Where its beginning already
decompresses to more than that, all of it is decompressed and counted before any more of it is handed on: whoever reads
it has a hundred times the work.

    for data in pieces("train.tsv.gz", packed=True): ...
"""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

from regard.errors import RegardError

__all__ = ["longest", "open_file", "pieces", "ratio", "too_long", "unpacked"]

longest = 1 << 20  # bytes of a line: to make tokens of one takes 400 times its size
unpacked = 2 << 20  # bytes that any .gz may unpack to …
ratio = 30  # … or this many for each of its own, if that is more; real text has about 3, seldom 20
piece = 1 << 18  # bytes at a time


def pieces(path: str, packed: bool) -> Iterator[bytes]:
    """The bytes of a file in non-empty chunks, decompressed if it is `packed`."""
    with open_file(path) as file, _told(path, packed):
        if not packed:
            while data := file.read(piece):
                yield data
            return
        stream, counted = gzip.GzipFile(fileobj=file), False
        while data := stream.read(piece):
            if not counted and stream.tell() > max(unpacked, ratio * file.tell()):
                _count(path)
                counted = True
            yield data


def _count(path: str) -> None:
    """Raises for a `.gz` file that decompresses to too much."""
    with open_file(path) as file:
        room = max(unpacked, ratio * os.fstat(file.fileno()).st_size)
        stream = gzip.GzipFile(fileobj=file)
        while stream.read(piece):
            if stream.tell() > room:
                raise RegardError(
                    f"{path}: decompresses to more than {room:,} bytes, over {ratio} times its size",
                    expected="compressed text",
                    do="if you trust the file, decompress it with gunzip first",
                )


def open_file(path: str) -> io.BufferedReader:
    """Opens a regular file, or a pipe that is already open (/dev/stdin)."""
    place = os.path.expanduser(path)
    try:
        # A named pipe that nobody writes to must not keep us waiting.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(place, flags), "rb")
    except FileNotFoundError:
        raise missing(path) from None
    except IsADirectoryError:
        raise RegardError(f"{path}: is a folder", expected="a file") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RegardError(f"{path}: cannot be read ({reason})") from None
    given = place.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))
    mode = os.fstat(file.fileno()).st_mode
    if not (stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and given)):
        file.close()
        raise RegardError(f"{path}: is a device or a named pipe", expected="a file", do="save its content to a file")
    if given:
        os.set_blocking(file.fileno(), True)
    return file


@contextmanager
def _told(path: str, packed: bool) -> Iterator[None]:
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RegardError(f"{path}: broken gzip ({error})", do="copy or compress the file again") from None
    except OSError as error:
        raise RegardError(f"{path}: cannot be read ({error.strerror or error})") from None


def too_long(where: str) -> RegardError:
    return RegardError(f"{where}: line longer than {longest:,} bytes", expected="shorter lines", do="split it")


def missing(path: str) -> RegardError:
    """The error for a missing file, with the most similar name in its folder."""
    place = Path(os.path.expanduser(path))
    try:
        around = [other.name for other in place.parent.iterdir()]
    except OSError:
        return RegardError(f"{path}: no such file (and no folder {str(place.parent)!r})")
    near = get_close_matches(place.name, sorted(around), n=1, cutoff=0.6)
    return RegardError(f"{path}: no such file", do=f"did you mean {str(place.parent / near[0])!r}?" if near else "")
