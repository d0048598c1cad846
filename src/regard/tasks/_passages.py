"""A document and a question as a network reads them: the tokens of both, in one or several windows.

A document of more than `window` tokens is read in windows that begin `stride` tokens apart, so that every answer that
is not longer than what two of them share lies whole in one. Where answers are parts of the document, each window ends
with a special token: to point at it says that the answer is not here.

    list(starts(900, window=400, stride=200))     # [0, 200, 400, 600]
"""

from collections.abc import Iterator
from dataclasses import dataclass

from regard.fields.cloze import Candidates
from regard.regions import Token

__all__ = ["Passage", "starts"]


@dataclass(frozen=True)
class Passage:
    """A window of a document, with the question. `tokens` are the characters of the document that each of its tokens
    covers, (−1, −1) where it stands for no part of it."""

    example: int  # number of the document and question
    document: list[int]
    question: list[int]
    tokens: list[tuple[int, int]]
    words: Candidates | None = None  # what can be chosen
    target: tuple[tuple[int, int], ...] | int = -1  # the places of the answer, or the word
    extra: tuple[str, ...] = ()  # the tokens that stand for no part of the document, as people see them

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Of document, question and answer."""
        return len(self.document), len(self.question), 1

    def regions(self, document: str) -> list[Token]:
        """What each position stands for."""
        places = len(self.tokens) - len(self.extra)
        return [
            *(Token(document[start:end], start, end) for start, end in self.tokens[:places]),
            *map(Token, self.extra),
        ]


def starts(length: int, window: int, stride: int) -> Iterator[int]:
    """The first token of each window of a document."""
    first = 0
    while True:
        yield first
        if first + window >= length:
            return
        first += stride
