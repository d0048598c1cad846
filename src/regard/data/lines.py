"""A text file as its lines: `.gz` or plain, UTF-8 with or without a byte order mark, LF or CRLF.

Only a line feed ends a line: U+2028, U+0085 and the like are characters of the text. Whatever keeps a
file from being read is said in one line, with the place.

    lines("train.tsv.gz")
"""

import gzip
import os
import zlib
from difflib import get_close_matches
from pathlib import Path

from regard.errors import RegardError

__all__ = ["lines"]


def lines(path: str) -> list[str]:
    """Every line without its end; a line feed at the very end of the file begins no further line."""
    data = _bytes(path).removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _broken(path, data, error.start) from None
    if not text:
        raise RegardError(f"{path}: the file is empty", expected="one example a line")
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return text.removesuffix("\n").split("\n")


def _bytes(path: str) -> bytes:
    place = Path(os.path.expanduser(path))
    try:
        data = place.read_bytes()
        return gzip.decompress(data) if place.suffix == ".gz" else data
    except FileNotFoundError:
        raise missing(path) from None
    except IsADirectoryError:
        raise RegardError(f"{path}: a folder", expected="a file") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise RegardError(f"{path}: broken gzip ({error})", do="copy or pack the file again") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RegardError(f"{path}: cannot be read ({reason})") from None


def missing(path: str) -> RegardError:
    """No such file; the nearest name in its folder, if any is near."""
    place = Path(os.path.expanduser(path))
    try:
        around = [other.name for other in place.parent.iterdir()]
    except OSError:
        return RegardError(f"{path}: no such file (and no folder {str(place.parent)!r})")
    near = get_close_matches(place.name, sorted(around), n=1, cutoff=0.6)
    return RegardError(f"{path}: no such file", do=f"did you mean {str(place.parent / near[0])!r}?" if near else "")


def _broken(path: str, data: bytes, at: int) -> RegardError:
    if data[:2] == b"\x1f\x8b":
        return RegardError(f"{path}: packed with gzip", do="let its name end in .gz")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return RegardError(f"{path}: UTF-16", expected="UTF-8", do="save it as UTF-8")
    line = data.count(b"\n", 0, at) + 1
    column = at - (data.rfind(b"\n", 0, at) + 1) + 1
    return RegardError(
        f"{path}:{line}: byte {column} of the line is 0x{data[at]:02x}", expected="UTF-8", do="save the file as UTF-8"
    )
