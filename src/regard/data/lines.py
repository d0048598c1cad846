"""The lines of a text file: `.gz` or plain, LF or CRLF, UTF-8 or another encoding.

Only a line feed ends a line; U+2028, U+0085 and the like are part of the text. Errors are one line with the position;
reading.py has the limits. A file is read in chunks, so an error near its start is reported before the rest is read.

    for line in each_line("train.tsv.gz"): ...
    TextFile("train.tsv", "auto", log).lines()   # the encoding is detected; a line that cannot be read is None
"""

import codecs
from collections.abc import Iterator
from itertools import chain, islice
from typing import TypeVar

from regard.data.encoding import codec_of, detected, marked, name_of, refuse_binary, utf8, wide
from regard.data.readlog import ReadLog
from regard.errors import RegardError
from regard.reading import longest, pieces, too_long

__all__ = ["TextFile", "each_line", "lines"]

most = 5_000_000  # lines of a file that is needed whole
start = 4_096  # bytes that show a byte order mark, UTF-16 or a JSON array
T = TypeVar("T", str, bytes)


def lines(path: str) -> list[str]:
    """All lines of a file."""
    found = list(islice(each_line(path), most + 1))
    if len(found) > most:
        raise RegardError(f"{path}: more than {most:,} lines", do="split it into smaller files")
    return found


def each_line(path: str) -> Iterator[str]:
    """Every line of a UTF-8 file without its line ending; a final line feed does not start another line."""
    return (line for line in TextFile(path, "utf-8").lines() if line is not None)


class TextFile:
    """An open file; either its `lines` or its `texts` can be read, once. `head` has its first characters."""

    def __init__(self, path: str, encoding: str = "auto", log: ReadLog | None = None) -> None:
        self.path, self.log = path, log or ReadLog()
        given = pieces(path, path.endswith(".gz"))
        first: list[bytes] = []
        while sum(map(len, first)) < start and (data := next(given, b"")):
            first.append(data)
        head = b"".join(first)
        refuse_binary(path, head)
        self._data: Iterator[bytes] = chain(first, given)
        if b"\n" not in head and head.rstrip(b"\r").count(b"\r") > 1 and marked(head) not in wide:
            self._data = (data.replace(b"\r", b"\n") for data in self._data)
            self.log.decide(f"{path}: lines end in a carriage return alone, as on old Macs")
        self._detects = encoding == "auto"
        self._encoding = (
            codec_of(encoding)
            if encoding != "auto"
            else marked(head[: len(head) // 4 * 4] if len(head) >= start else head) or "ascii"
        )
        if self._encoding in wide and self._detects:
            self._tell()
        if self._encoding not in wide:
            self._data = _without_mark(self._data, codecs.BOM_UTF8)
        narrow = head.removeprefix(codecs.BOM_UTF8).decode("latin-1")
        self.head = head.decode(self._encoding, "ignore") if self._encoding in wide else narrow

    def _tell(self) -> None:
        self.log.decide(
            f"{self.path}: read as {name_of(self._encoding)}, not UTF-8; set data.encoding= if that is wrong"
        )

    def lines(self) -> Iterator[str | None]:
        """Every line without its ending; None for one that cannot be read, which is in the log."""
        if self._encoding in wide:
            for _, text in self._blocks(self.texts(), "\n"):
                yield from _split(text) if text is not None else [None]
            return
        for number, block in self._blocks(self._data, b"\n"):
            yield from self._decoded(block, number) if block is not None else [None]

    def texts(self) -> Iterator[str]:
        """The text in pieces."""
        decoder = None
        number, mark = 1, "\ufeff"
        for data in chain(self._data, [b""]):
            if self._encoding not in wide and not data.isascii():
                self._decide(data, number)
            if decoder is None and (self._encoding != "ascii"):
                decoder = codecs.getincrementaldecoder(self._encoding)()
            try:
                text = data.decode("ascii") if decoder is None else decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                line = number + error.object[: error.start].decode(self._encoding, "ignore").count("\n")
                raise RegardError(
                    f"{self.path}:{line}: not {name_of(self._encoding)} ({error.reason})", do="set data.encoding="
                ) from None
            number += text.count("\n")
            if text:
                yield text.removeprefix(mark)
                mark = ""

    def _blocks(self, data: Iterator[T], newline: T) -> Iterator[tuple[int, T | None]]:
        """Whole lines, with the number of lines before them; None for a line that is too long."""
        number, dropping = 0, False
        rest = newline[:0]
        for some in data:
            lead, ended, more = some.partition(newline)
            if not dropping:
                rest += lead
                if dropping := len(rest) > longest:
                    where = f"{self.path}:{number + 1}"
                    self.log.bad("long", where, f"line longer than {longest:,} bytes", "shorter lines", "split it")
                    rest = newline[:0]
            if not ended:
                continue
            whole, several, after = more.rpartition(newline)
            if dropping:
                yield number, None
                number, dropping = number + 1, False
                block = whole if several else None
            else:
                block = rest + newline + whole if several else rest
            if block is not None:
                yield number, block
                number += block.count(newline) + 1
            rest = after
        if dropping:
            yield number, None
        elif rest:
            if len(rest) > longest:
                raise too_long(f"{self.path}:{number + 1}")
            yield number, rest
        elif not number:
            raise RegardError(f"{self.path}: the file is empty", expected="one example per line")

    def _decoded(self, block: bytes, before: int) -> list[str | None]:
        if not block.isascii():
            self._decide(block, before + 1)
        try:
            return _split(block.decode(self._encoding))
        except UnicodeDecodeError:
            return [self._line(line, number) for number, line in enumerate(block.split(b"\n"), before + 1)]

    def _decide(self, data: bytes, line: int) -> None:
        """Decides on an encoding at the first bytes that are not ASCII, and notices where the decision was wrong."""
        if not self._detects:
            return
        if self._encoding == "ascii":
            self._encoding = detected(data)
            if self._encoding != "utf-8":
                self._tell()
        elif self._encoding != "utf-8":
            good, bad = utf8(data)
            if good > bad:
                name = name_of(self._encoding)
                raise RegardError(
                    f"{self.path}: {name} before line {line}, UTF-8 after it",
                    expected="one encoding",
                    do="save it as UTF-8, or set data.encoding=utf-8 data.skip=true",
                )

    def _line(self, data: bytes, number: int) -> str | None:
        try:
            return data.decode(self._encoding).removesuffix("\r")
        except UnicodeDecodeError as error:
            name = name_of(self._encoding)
            got = f"byte {error.start + 1} of the line is 0x{data[error.start]:02x}"
            self.log.bad("encoding", f"{self.path}:{number}", got, name, f"save the file as {name}, set data.encoding=")
            return None


def _split(block: str) -> list[str | None]:
    return [*block.replace("\r\n", "\n").removesuffix("\r").split("\n")]


def _without_mark(data: Iterator[bytes], mark: bytes) -> Iterator[bytes]:
    """The bytes without a byte order mark at their start."""
    head = b""
    for some in data:
        head += some
        if len(head) >= len(mark):
            break
    yield from filter(None, chain([head.removeprefix(mark)], data))
