"""What happened while data was read: lines that cannot be used, and what was decided about each file.

A line that cannot be used is an error, or, with `skip`, it is left out and counted. Nothing is left out unseen: `notes`
has a line for each kind of it and each file.

    log = ReadLog(skip=True)
    log.bad("fields", "train.tsv:12", "3 fields", expected="2", do="remove the extra tab")
    log.notes()  # ["train.tsv: skipped 1 line with a wrong number of fields (train.tsv:12)"]
"""

from dataclasses import dataclass, field
from typing import Literal

from regard.errors import RegardError, counted

__all__ = ["Fault", "Kind", "NothingReadError", "ReadLog"]

Kind = Literal["encoding", "quotes", "json", "fields", "value", "long", "empty"]
kinds: dict[str, str] = {  # in the order in which they are reported
    "encoding": "with a broken encoding",
    "quotes": "with broken quotes",
    "json": "not a JSON object",
    "fields": "with a wrong number of fields",
    "value": "with a key that is missing or unusable",
    "long": "too long",
    "empty": "with an empty text or label",
}
shown = 3  # places of each kind
advice = "set data.skip=true to skip such lines"


@dataclass
class Fault:
    """Lines of one file that cannot be used, for one reason."""

    path: str
    kind: Kind
    count: int = 0
    first: list[str] = field(default_factory=list)  # what is wrong with the first few, with their places
    do: str = ""  # what was expected of the first, and what to do

    @property
    def what(self) -> str:
        return f"{counted(self.count, 'line')} {kinds[self.kind]}"

    def __str__(self) -> str:
        return f"{self.path}: skipped {self.what} ({'; '.join(self.first)})"


class ReadLog:
    """Collects what was left out and decided; without `skip` the first bad line raises."""

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.decided: list[str] = []
        self.columns: list[str] = []  # that the header or the keys of the first file named
        self._faults: dict[tuple[str, str], Fault] = {}
        self._blank: dict[str, list[int]] = {}  # path → how many, and the first

    def bad(self, kind: Kind, where: str, got: str, expected: str = "", do: str = "") -> None:
        """A line that cannot be used; `where` is "path:line"."""
        if not self.skip:
            raise RegardError(f"{where}: {got}", expected=expected, do=f"{do}, or {advice}" if do else advice)
        path = where.rpartition(":")[0]
        advised = "; ".join(filter(None, [expected and f"expected {expected}", do]))
        fault = self._faults.setdefault((path, kind), Fault(path, kind, do=advised))
        fault.count += 1
        if len(fault.first) < shown:
            fault.first.append(f"{where}: {got}")

    def failed(self, kind: Kind, where: str, error: RegardError) -> None:
        """A line that cannot be used, as an error says."""
        if not self.skip:
            raise RegardError(str(error), do=advice) from None
        got, _, do = str(error).removeprefix(f"{where}: ").partition("; ")
        self.bad(kind, where, got, do=do)

    def blank(self, path: str, line: int) -> None:
        """A blank line is always left out."""
        self._blank.setdefault(path, [0, line])[0] += 1

    def decide(self, note: str) -> None:
        if note not in self.decided:
            self.decided.append(note)

    @property
    def faults(self) -> list[Fault]:
        order = list(kinds)
        return sorted(self._faults.values(), key=lambda fault: order.index(fault.kind))

    def notes(self) -> list[str]:
        """What the user should know, one line each."""
        blank = [
            f"{path}: skipped {counted(count, 'blank line')} ({'' if count == 1 else 'the first is '}line {line})"
            for path, (count, line) in self._blank.items()
        ]
        return [*self.decided, *blank, *map(str, self.faults)]

    def nothing(self, path: str, otherwise: str) -> "NothingReadError":
        """The error for a file of which no example is left."""
        found = [fault for fault in self.faults if fault.path == path]
        if found:
            wrong = ", ".join(fault.what for fault in found)
            return NothingReadError(f"{path}: nothing can be used: {wrong} ({found[0].first[0]})", self)
        return NothingReadError(f"{path}: {otherwise}; expected one example per line", self)


class NothingReadError(RegardError):
    """No line of a file can be used."""

    def __init__(self, got: str, log: ReadLog) -> None:
        super().__init__(got)
        self.log = log
