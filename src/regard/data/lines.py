"""A text file as its lines: `.gz` or plain, UTF-8 with or without a byte order mark, LF or CRLF.

Only a line feed ends a line: U+2028, U+0085 and the like are characters of the text. Whatever keeps a file from being
read is said in one line, with the place; reading.py has the limits. A file is read piece by piece, so a fault near its
beginning is said before the rest is read.

    for line in each_line("train.tsv.gz"): ...
"""

from collections.abc import Iterator
from itertools import islice

from regard.errors import RegardError
from regard.reading import longest, pieces, too_long

__all__ = ["each_line", "lines"]

most = 5_000_000  # lines of a file that is needed whole


def lines(path: str) -> list[str]:
    """Every line of a file that is needed whole."""
    found = list(islice(each_line(path), most + 1))
    if len(found) > most:
        raise RegardError(f"{path}: more than {most:,} lines", do="split it into smaller files")
    return found


def each_line(path: str) -> Iterator[str]:
    """Every line without its end; a line feed at the very end of the file begins no further line."""
    number, rest, head = 0, b"", b""
    for data in pieces(path, path.endswith(".gz")):
        if not head:
            head = data[:2]
            data = data.removeprefix(b"\xef\xbb\xbf")
        whole, newline, after = data.rpartition(b"\n")
        if not newline:
            rest += data
        else:
            if len(rest) + data.index(b"\n") > longest:
                raise too_long(f"{path}:{number + 1}")
            block, rest = rest + whole, after
            found = _text(path, block, number, head).replace("\r\n", "\n").removesuffix("\r").split("\n")
            yield from found
            number += len(found)
        if len(rest) > longest:
            raise too_long(f"{path}:{number + 1}")
    if rest:
        yield _text(path, rest, number, head).removesuffix("\r")
    elif not number:
        raise RegardError(f"{path}: the file is empty", expected="one example per line")


def _text(path: str, data: bytes, before: int, head: bytes) -> str:
    """Whole lines as text; `before` are the lines before them, and `head` is how the file begins."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        at = error.start
    if head == b"\x1f\x8b":
        raise RegardError(f"{path}: compressed with gzip", do="rename it to end in .gz")
    if head in (b"\xff\xfe", b"\xfe\xff"):
        raise RegardError(f"{path}: UTF-16", expected="UTF-8", do="save it as UTF-8")
    line = before + data.count(b"\n", 0, at) + 1
    column = at - (data.rfind(b"\n", 0, at) + 1) + 1
    raise RegardError(
        f"{path}:{line}: byte {column} of the line is 0x{data[at]:02x}", expected="UTF-8", do="save the file as UTF-8"
    )
