"""Text of any size: lines are read again whenever they are needed, and never held in memory together.

A corpus is one text file or several (`a.txt,b.txt.gz`, or a folder of them), or the column `text` of a data set of the
Hugging Face hub. Blank lines are left out. A hash of each line decides whether it is held out, so a line is never in
two splits. Tables and JSON are read as for every other task (load.py).

    splits = read_corpus("a.txt,b.txt.gz", encoding="auto")     # None if it is no text; splits.train is a Corpus
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, overload

from regard.data.hf import loaded
from regard.data.lines import TextFile
from regard.data.read import form_of
from regard.data.readlog import ReadLog
from regard.data.splits import Splits, place
from regard.errors import RegardError
from regard.types import Example

__all__ = ["Corpus", "read_corpus"]

TEXT = (".txt", ".text", ".raw", ".tokens")
PARTS = ("train", "valid", "validation", "val", "dev", "test")  # names of files that load.py finds by themselves
SHARE, MOST = 0.05, 2_000  # held out for validation, and as much for the test
KEPT = 4 * MOST  # lines that may still be held out, while it is not known how many there are
ROWS = 1_000  # of a data set of the hub, read together

Lines = Callable[[ReadLog], Iterator[tuple[str, str]]]
"""Lines with where each was read; what is wrong with them goes into the log."""


class Corpus(Sequence[Example]):
    """The lines of a text whose hash is above that of all lines held out."""

    def __init__(self, lines: Lines, above: float, count: int, skip: bool) -> None:
        self.lines, self.above, self.size, self.skip = lines, above, count, skip

    def __iter__(self) -> Iterator[Example]:
        for text, where in self.lines(ReadLog(self.skip)):
            if place((text,), 0) > self.above:
                yield Example((text,), "", where)

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> Example: ...

    @overload
    def __getitem__(self, at: slice) -> list[Example]: ...

    def __getitem__(self, at: int | slice) -> Example | list[Example]:
        """Reads the text up to there."""
        if isinstance(at, slice):
            return list(islice(self, *at.indices(self.size)))
        if not -self.size <= at < self.size:
            raise IndexError(at)
        return next(islice(self, at % self.size, None))

    @cached_property
    def digest(self) -> str:
        """A hash of all lines in their order."""
        total = blake2b(digest_size=16)
        for example in self:
            data = example.source.encode("utf-8", "surrogatepass")
            total.update(b"%d " % len(data) + data)
        return total.hexdigest()


def read_corpus(
    spec: str, *, encoding: str = "auto", skip: bool = False, valid: bool = True, test: bool = True
) -> Splits | None:
    """The text in a stream, and the lines held out for `valid` and `test`, where they are wanted; None if the
    specification is of another kind."""
    log = ReadLog(skip)
    lines = _hub(spec) if spec.startswith("hf:") else _files(spec, encoding)
    if lines is None:
        return None
    count, held = _lowest(lines, log)
    size = min(max(1, round(SHARE * count)), MOST) if count > 2 else 0
    tests, valids = size * test, size * valid
    found = sorted(held)[: tests + valids]
    chosen = [example for number in found for example in held[number]]
    cut = sum(len(held[number]) for number in found[:tests])
    train = Corpus(lines, found[-1] if found else -1.0, count - len(chosen), skip)
    splits = Splits(train, chosen[cut:], chosen[:cut])
    splits.notes.extend(log.notes())
    splits.faults.extend(log.faults)
    return splits


def _lowest(lines: Lines, log: ReadLog) -> tuple[int, dict[float, list[Example]]]:
    """How many lines there are, and those with the lowest hashes."""
    count, limit = 0, 1.0
    held: dict[float, list[Example]] = {}
    for text, where in lines(log):
        count += 1
        number = place((text,), 0)
        if number < limit:
            held.setdefault(number, []).append(Example((text,), "", where))
            if len(held) > 2 * KEPT:
                kept = sorted(held)[:KEPT]
                held, limit = {one: held[one] for one in kept}, kept[-1]
    return count, held


def _files(spec: str, encoding: str) -> Lines | None:
    paths = _paths(spec)
    if not paths:
        return None

    def lines(log: ReadLog) -> Iterator[tuple[str, str]]:
        for path in paths:
            for number, line in enumerate(TextFile(path, encoding, log).lines(), 1):
                if line is not None and line.strip():
                    yield line, f"{path}:{number}"

    return lines


def _paths(spec: str) -> list[str]:
    """The text files that are meant, in order; none where anything else is."""
    whole = os.path.expanduser(spec)
    if os.path.isdir(whole):
        files = sorted(str(path) for path in Path(whole).iterdir() if path.is_file())
        if any(_stem(path) in PARTS for path in files):
            return []
        paths = [path for path in files if _is_text(path)]
    elif os.path.exists(whole):
        paths = [whole]
    else:
        paths = [os.path.expanduser(part.strip()) for part in spec.split(",")]
        if missing := [path for path in paths if len(paths) > 1 and not os.path.exists(path)]:
            raise RegardError(f"{missing[0]} does not exist", expected="text files, with commas between")
    return paths if all(map(_is_text, paths)) else []


def _stem(path: str) -> str:
    return Path(path).name.split(".")[0].lower()


def _is_text(path: str) -> bool:
    """Whether every line is a text as it stands."""
    bare = path.removesuffix(".gz")
    return os.path.isfile(path) and (bare.endswith(TEXT) or form_of(bare) == "auto")


def _hub(name: str) -> Lines:
    found = loaded(name)
    if "train" not in found or "text" not in found["train"].column_names:
        columns = ", ".join(found["train"].column_names if "train" in found else found)
        raise RegardError(f"{name}: no column 'text' in a split 'train'", do=f"it has {columns}")
    rows: Any = found["train"]

    def lines(log: ReadLog) -> Iterator[tuple[str, str]]:
        for first in range(0, len(rows), ROWS):
            for number, text in enumerate(rows[first : first + ROWS]["text"], first + 1):
                for line in (text or "").split("\n"):
                    if line.strip():
                        yield line, f"{name}:train:{number}"

    return lines
