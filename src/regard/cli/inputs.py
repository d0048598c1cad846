"""Reads input lines in chunks; a line that cannot be read is reported, and the rest goes on.

for number, some in chunks(stream.read1, "standard input"):
    for line in some: line.text or line.error
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from regard.errors import RegardError
from regard.reading import longest, open_file, pieces, too_long

__all__ = ["Line", "chunks", "opened"]

together = 512  # lines of a chunk, at most
heavy = 1 << 20  # characters from which a chunk is full


@dataclass(frozen=True)
class Line:
    """One line of the input; where `error` says why it cannot be used, there is no text."""

    text: str
    where: str  # "lines.txt:12"
    error: RegardError | None = None
    values: tuple[str, ...] = ()  # what would stand between TABs, where it was given one by one


@contextmanager
def opened(path: str) -> Iterator[Callable[[int], bytes]]:
    """A function that gives the next bytes of a file, unpacked if its name ends in .gz, and none at its end."""
    if path.endswith(".gz"):
        some = pieces(path, packed=True)
        yield lambda size: next(some, b"")
    else:
        with open_file(path) as file:
            yield file.read1


def chunks(read: Callable[[int], bytes], name: str, eager: bool = True) -> Iterator[tuple[int, list[Line]]]:
    """Lines, at most `together` at once, with the number of lines before them.

    `read` gives some bytes and none at the end. `eager` gives what has arrived; else chunks are full, and the same
    however the input comes. Of a line that is too long nothing is kept.
    """
    before, size = 0, 0
    waiting: list[Line] = []
    for line in _lines(read, name):
        if line is not None:
            waiting.append(line)
            size += len(line.text)
        if waiting and (len(waiting) == together or size >= heavy or (line is None and eager)):
            yield before, waiting
            before, size, waiting = before + len(waiting), 0, []
    if waiting:
        yield before, waiting


def _lines(read: Callable[[int], bytes], name: str) -> Iterator[Line | None]:
    """Every line, and None where the next has not arrived yet."""
    number, rest, long = 1, bytearray(), False
    while data := read(1 << 16):
        first, *more = data.split(b"\n")
        for piece in [first, *more[:-1]] if more else []:
            yield _line(rest + piece, name, number, long or len(rest) + len(piece) > longest)
            number, rest, long = number + 1, bytearray(), False
        if not long:
            rest += more[-1] if more else first
            long = len(rest) > longest
            rest = bytearray() if long else rest
        yield None
    if rest or long:
        yield _line(rest, name, number, long)


def _line(data: bytes | bytearray, name: str, number: int, long: bool) -> Line:
    where = f"{name}:{number}"
    if long:
        return Line("", where, too_long(where))
    data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
    try:
        return Line(data.removesuffix(b"\r").decode("utf-8"), where)
    except UnicodeDecodeError as error:
        bad = f"byte {error.start + 1} of the line is 0x{data[error.start]:02x}"
        return Line("", where, RegardError(f"{where}: {bad}", expected="UTF-8", do="convert the input to UTF-8"))
