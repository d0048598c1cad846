"""Pre-trained word vectors from a text file, plain or `.gz`: a word a line, then its numbers, one space between.

GloVe (Pennington, Socher and Manning 2014) begins with the first word; word2vec (Mikolov et al. 2013) and fastText
(Bojanowski et al. 2017) begin with a line `count width`. Such files are large and most of their words are of no use
here: only lines that are wanted are parsed. They are sorted by frequency, so the first words are the most frequent.

    vectors = read_vectors("glove.6B.300d.txt", text.vocabulary, most=50_000)
    vectors.matrix[vectors.row("cat")]
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float32
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import RegardError
from regard.reading import longest, open_file, pieces, too_long
from regard.text import mark

__all__ = ["Vectors", "bare", "read_vectors", "side_by_side"]

form = "a word, then its numbers, with one space between"


@dataclass(frozen=True)
class Vectors:
    """Words, and a vector for each."""

    words: tuple[str, ...]
    matrix: Float32[Tensor, "word width"]

    @property
    def width(self) -> int:
        return self.matrix.shape[1]

    @cached_property
    def rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    def row(self, piece: str) -> int | None:
        """Where the vector of a vocabulary's piece stands, if it has one."""
        return self.rows.get(bare(piece))


def side_by_side(several: Sequence[Vectors]) -> Vectors:
    """The vectors of several files joined, word by word; zeros where a file does not know the word."""
    words = tuple(dict.fromkeys(word for one in several for word in one.words))
    parts = []
    for one in several:
        rows = torch.tensor([one.rows.get(word, -1) for word in words], dtype=torch.long)
        parts.append(one.matrix[rows.clamp(min=0)].masked_fill((rows < 0).unsqueeze(-1), 0.0))
    return Vectors(words, torch.cat(parts, 1))


def bare(piece: str) -> str:
    """A sign without the spaces around it, or their marks: `,▁` is the word `,`."""
    return piece.strip(mark + " ")


def read_vectors(path: str, words: Collection[str] | None, most: int, width: int | None = None) -> Vectors:
    """The vectors of `words` (None: of every word) and of the first `most` words of the file, whatever they are.

    A word of `words` that is not in the file takes the vector of its lower-case form. Of a word that comes twice the
    first vector counts. A line that is not UTF-8 is an error only if its word was asked for: real files have some.
    """
    asked = {bare(word) for word in words or ()} - {""}
    small = {word.lower() for word in asked}
    # A word may hold spaces (GloVe 840B has ". . ."); what stands before the first is quick to find in a line.
    heads = {word.partition(" ")[0].encode("utf-8", "surrogatepass") for word in asked | small}
    lines = _lines(path)
    size, first = _begin(path, lines)
    if width is not None and width != size:
        raise RegardError(f"{path}: embed.dim={width} but the file has {size}", do=f"set embed.dim={size}")
    read: dict[str, int] = {}
    kept: list[str] = []
    missing, data = set(asked), bytearray()
    for count, (at, line) in enumerate(chain([first], lines), 1):
        among = words is None or count <= most
        first_line = count == 1  # always tried: is this such a file at all?
        if not (among or missing or first_line):
            break
        called = line.partition(b" ")[0] in heads
        if not (among or called or first_line):
            continue
        try:
            word, *fields = line.decode("utf-8").rsplit(" ", size)
        except UnicodeDecodeError as error:
            if called or first_line:
                byte = f"byte {error.start + 1} of the line is 0x{line[error.start]:02x}"
                raise RegardError(f"{path}:{at}: {byte}", expected="UTF-8 text") from None
            continue
        if word in read:
            continue
        vector = _vector(f"{path}:{at}", word, fields, size)
        among = among or word in asked
        if word and (among or word in small):
            read[word] = len(read)
            data += vector.tobytes()
            missing.discard(word)
            if among:
                kept.append(word)
    lent = sorted(word for word in missing if word.lower() in read)
    rows = [read[word] for word in kept] + [read[word.lower()] for word in lent]
    matrix = np.frombuffer(data, dtype=np.float32).reshape(-1, size)[np.array(rows, dtype=np.intp)]
    return Vectors((*kept, *lent), torch.from_numpy(matrix))


def _begin(path: str, lines: Iterator[tuple[int, bytes]]) -> tuple[int, tuple[int, bytes]]:
    """How many numbers a word has, and the first line that has some."""
    try:
        at, line = next(lines)
        if header := re.fullmatch(rb"\d{1,12} (\d{1,6})", line):
            size, (at, line) = int(header[1]), next(lines)
        else:
            size = line.count(b" ")
    except StopIteration:
        raise RegardError(f"{path}: no vectors in the file", expected=form) from None
    if size < 1:
        raise RegardError(f"{path}:{at}: no numbers", expected=form)
    return size, (at, line)


def _vector(place: str, word: str, fields: list[str], size: int) -> NDArray[np.float32]:
    within = word.split(" ")[1:]  # spaces inside a word; but where a number stands among them, there are too many
    if len(fields) < size or any(_finite([part]) is not None for part in within):
        raise RegardError(
            f"{place}: {len(fields) + len(within)} fields after the word", expected=f"{size}, as in the first line"
        )
    vector = _finite(fields)
    if vector is None:
        bad = next(field for field in fields if _finite([field]) is None)
        raise RegardError(f"{place}: {bad[:30]!r} is not a finite number", expected=f"{size} numbers after the word")
    return vector


def _finite(fields: list[str]) -> NDArray[np.float32] | None:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(fields, dtype=np.float32)
    except ValueError:
        return None
    return vector if np.isfinite(vector).all() else None


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Lines that hold something, each with its number. Only a line feed ends one; some files have a space before it."""
    with open_file(path) as file:
        start = file.peek(4)
    if start[:4] == b"PK\3\4":
        raise RegardError(f"{path}: a zip file", expected="text, plain or gzipped (.gz)", do="unzip it first")
    before, rest = 0, b""
    for data in pieces(path, packed=start[:2] == b"\x1f\x8b"):
        *whole, rest = (rest + (data if before or rest else data.removeprefix(b"\xef\xbb\xbf"))).split(b"\n")
        for at, line in enumerate(whole, before + 1):
            if line and (line := line.rstrip(b" \r")):
                yield at, line
        before += len(whole)
        if len(rest) > longest:
            raise too_long(f"{path}:{before + 1}")
    if rest := rest.rstrip(b" \r"):
        yield before + 1, rest
