"""Words between spaces that are read as subwords: a position of the field is a word, a state that of its first piece.

Labels of words (`tag`) and a pre-trained tokenizer count differently; BERT's authors give a word's label to its first
piece (Devlin et al. 2019, section 5.3).

    words_of(text, ["New York"], where, "text")[0].starts         # the positions of "New" and "York"
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from regard.errors import RegardError
from regard.fields import Where, drop_positions
from regard.regions import Token
from regard.text import Tokenizer
from regard.types import Sequences, Subwords

__all__ = ["WordRow", "spoken", "together", "words_of"]


@dataclass(frozen=True)
class WordRow:
    """Subwords, and for each the number of its word; −1 for special tokens."""

    ids: tuple[int, ...]
    words: tuple[int, ...]
    length: int

    def __len__(self) -> int:
        return self.length

    @property
    def starts(self) -> list[int]:
        """The position of each word's first piece; a word without any (a control character) has that before it."""
        first: dict[int, int] = {}
        for place, word in enumerate(self.words):
            first.setdefault(word, place)
        found: list[int] = []
        for word in range(self.length):
            found.append(first.get(word, found[-1] if found else 0))
        return found

    def without(self, positions: Sequence[int]) -> "WordRow":
        """The row without some words."""
        kept = {old: new for new, old in enumerate(drop_positions(range(self.length), positions))}
        some = [(one, kept.get(word, -1)) for one, word in self._pieces() if word < 0 or word in kept]
        return WordRow(tuple(one for one, _ in some), tuple(word for _, word in some), len(kept))

    def _pieces(self) -> Iterator[tuple[int, int]]:
        return zip(self.ids, self.words, strict=True)


def spoken(value: str) -> list[Token]:
    """The words of a text."""
    return [Token(found[0], *found.span()) for found in re.finditer(r"\S+", value)]


def words_of(text: Tokenizer, values: Sequence[str], where: Where, role: str) -> list[WordRow]:
    """Each text as a row of words."""
    ids, pieces = text.read_all(values)
    rows = []
    for value, numbers, tokens, at in zip(values, ids, pieces, where, strict=True):
        words = spoken(value)
        if not words:
            raise RegardError(f"{at}: an empty {role}", expected="at least one word")
        before, after = text.around
        whose, word = [-1] * before, 0
        for token in tokens[before : len(tokens) - after]:
            while word + 1 < len(words) and token.start >= words[word + 1].start:
                word += 1
            whose.append(word)
        rows.append(WordRow(tuple(numbers), (*whose, *[-1] * after), len(words)))
    return rows


def together(rows: Sequence[WordRow]) -> Subwords:
    """Rows side by side."""
    pieces, words = (Sequences.pad(some) for some in ([row.ids for row in rows], [row.starts for row in rows]))
    return Subwords(pieces.values, pieces.mask, pieces.lengths, words=words)
