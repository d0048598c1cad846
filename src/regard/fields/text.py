"""Text: words or subwords, read through a table of vectors.

field = Text(end=False, tokenizer="word");  field.fit(["a dog runs"]);  field.regions(["a dog"])
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from regard.errors import RegardError
from regard.fields import Input, Where, drop_positions
from regard.fields._by_word import WordRow, spoken, together, words_of
from regard.fields._vectors import Vectors, read_vectors, side_by_side
from regard.fields.embed.words import Words, coverage
from regard.fields.tokens import Tokens
from regard.find import PLAIN, In, Of, Spec, call, named, settable, table
from regard.ranges import Length, LengthOrNone, ranged
from regard.regions import Region
from regard.types import Sequences

__all__ = ["SENTENCE", "WORDS", "Text"]

WORDS: Spec = {"name": "text", "tokenizer": {"name": "word", "lower": True, "split": "punctuation"}}
SENTENCE: Spec = {**table(WORDS), "max_length": 512}


class Text(Tokens, Input):
    """Text to read, token by token.

    With `end`, a special token follows the last one.
    """

    kind: ClassVar[str] = "text"
    writes: ClassVar[bool] = False
    headers: ClassVar[tuple[str, ...]] = (
        *("text", "sentence", "review", "review_text", "review_body", "reviewtext", "comment"),
        *("comment_text", "tweet", "utterance", "message", "content", "question", "query", "post"),
        *("document", "article", "abstract", "body", "description", "sms", "email", "headline", "title"),
        *("phrase", "input", "source", "tokens", "words", "src", "source_text", "original", "from"),
        *("prompt",),
    )

    @ranged
    def __init__(
        self,
        end: bool,
        tokenizer: Annotated[Spec, In("text"), "how text is split into tokens"] = "bpe",
        embed: Annotated[Spec, Of("fields.embed.words.Words"), "word vectors, learned or from a file"] = PLAIN,
        max_length: Annotated[Length, "longest text, in tokens"] = 1024,
        truncate: Annotated[LengthOrNone, "tokens read from the start of each text; 0 reads all of it"] = 0,
    ) -> None:
        super().__init__(tokenizer, max_length)
        self.end, self.embed, self.truncate = end, table(embed), truncate  # type: ignore[misc]
        self.imported = named(tokenizer) == "pretrained"
        self.found = 0  # words that have a vector
        self.vectors: Vectors | None = None
        self.by_word = False  # with a pre-trained tokenizer: a position is a word between spaces, not a subword
        self.notes: list[str] = []

    def fit(self, values: Sequence[str]) -> None:
        super().fit(values)
        if self.embed.get("vectors"):
            self._fit_vectors(values)

    def _fit_vectors(self, values: Sequence[str]) -> None:
        """Words that only the file of vectors has are known too: a text to come may hold them. Several files, with
        commas between, are joined."""
        most, given = self.embed.get("max_vectors", settable(Words)["max_vectors"].default), str(self.embed["vectors"])
        paths = [given] if os.path.exists(os.path.expanduser(given)) else given.split(",")
        words = set(self.text.seen[4:])
        self.vectors = side_by_side([read_vectors(path.strip(), words, most) for path in paths])
        self.text = self.text.extend(self.vectors.words)
        counts = Counter(number for row in self.text.encode_all(values) for number in row[:-1])
        report = coverage(self.text.vocabulary, counts, self.vectors)
        self.found, self.notes, width = report.found, [str(report)], self.vectors.width
        # A preset says a width too, so another one than the file's is no mistake.
        if (asked := self.embed.get("dim", width)) not in (width, settable(Words)["dim"].default):
            self.notes.append(f"embed.dim={asked} is ignored: {given} has {width} numbers per word")
        self.embed["dim"] = width

    def state(self) -> dict[str, Any]:
        return {**super().state(), "found": self.found, "dim": self.embed.get("dim")}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.found = int(state["found"])
        if state["dim"] is not None:
            self.embed["dim"] = int(state["dim"])

    def encode(self, values: Sequence[str], where: Where, role: str = "text") -> list[Any]:
        if self.by_word:
            return words_of(self.text, values, where, role)
        rows = [self._cut(row) for row in self.text.encode_all(values)]
        for value, row, at in zip(values, rows, where, strict=True):
            if not self.end and (not row or not value.strip()):
                raise RegardError(f"{at}: an empty {role}", expected="at least one word")
            self.check(row, at, role)
        return rows

    def _cut(self, row: Any) -> Any:
        """Ids or regions, which come with their end: the first ones, and the end where it counts. Special tokens of a
        pre-trained tokenizer belong to the row."""
        if self.text.framed:
            before, after = self.text.around
            room = max(self.truncate, before + after + 1)
            return (
                row if not self.truncate > 0 or len(row) <= room else [*row[: room - after], *row[len(row) - after :]]
            )
        if 0 < self.truncate < len(row):
            row = [*row[: self.truncate - 1], row[-1]]
        return row if self.end else row[:-1]

    def embedding(self) -> Words:
        words: Words = call(Words, self.embed, vocab=len(self.text), found=self.found)
        if self.vectors is not None:
            words.fill(self.text.vocabulary, self.vectors)
        return words

    def collate(self, rows: Sequence[Any]) -> Sequences:
        return together(rows) if self.by_word else super().collate(rows)

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        if self.by_word:
            return [tuple(spoken(value)) for value in values]
        return [tuple(self._cut(tokens)) for tokens in self.text.tokens_all(values)]

    def pieces(self, row: Any) -> int:
        """Tokens of a row, where a position may be a word of several."""
        return len(row.ids) if isinstance(row, WordRow) else len(row)

    def drop(self, row: Any, positions: Sequence[int]) -> Any:
        """Positions of a text in a pre-trained tokenizer's frame count its own tokens alone."""
        if isinstance(row, WordRow):
            return row.without(positions)
        if not self.text.framed:
            return drop_positions(row, positions)
        before, after = self.text.around
        end = len(row) - after
        return [*row[:before], *drop_positions(row[before:end], positions), *row[end:]]

    def remaining(self, regions: tuple[Region, ...], positions: Sequence[int]) -> tuple[Region, ...]:
        if self.by_word or not self.text.framed:
            return super().remaining(regions, positions)
        before, after = self.text.around
        end = len(regions) - after
        return (*regions[:before], *super().remaining(regions[before:end], positions), *regions[end:])
