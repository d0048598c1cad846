"""Tokens: text that a network generates, as a sequence of tokens with an end.

tokens = Tokens(tokenizer="bpe");  tokens.fit(texts);  tokens.collate(tokens.encode(texts, where))
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from regard.errors import RegardError
from regard.fields import Field, Profile, Where
from regard.find import In, Spec, build
from regard.ranges import Length, ranged
from regard.text import Tokenizer
from regard.types import Sequences

__all__ = ["Tokens", "text_profile"]


class Tokens(Field):
    """Text to predict, token by token."""

    kind: ClassVar[str] = "tokens"
    headers: ClassVar[tuple[str, ...]] = (
        *("target", "tgt", "trg", "target_text", "output", "answer", "translation", "to", "response"),
        *("summary",),
    )
    textual: ClassVar[bool] = True
    end: ClassVar[bool] = True  # whether the end is a token too
    writes: ClassVar[bool] = True  # a network writes these tokens, and does not only read them
    text: Tokenizer

    @ranged
    def __init__(
        self,
        tokenizer: Annotated[Spec, In("text"), "how text is split into tokens"] = "bpe",
        max_length: Annotated[Length, "longest text, in tokens"] = 1024,
    ) -> None:
        self.tokenizer, self.max_length = tokenizer, max_length

    def fit(self, values: Sequence[str]) -> None:
        self.text = build("text", self.tokenizer).train(values)
        if self.writes and self.text.framed:
            raise RegardError(
                "tokenizer=pretrained for a text to write", expected="a tokenizer that is trained here, such as bpe"
            )

    def state(self) -> dict[str, Any]:
        return {"tokenizer": self.text.to_dict()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.text = Tokenizer.from_dict(state["tokenizer"])

    def encode(self, values: Sequence[str], where: Where, role: str = "text") -> list[list[int]]:
        rows = self.text.encode_all(values)
        for row, at in zip(rows, where, strict=True):
            self.check(row, at, role)
        return rows

    def check(self, row: Sequence[int], where: str, role: str) -> None:
        """Raise for a text that is too long."""
        if len(row) > self.max_length:
            raise RegardError(
                f"{where}: {len(row):,} tokens in the {role}",
                expected=f"at most {self.max_length:,}",
                do=f"shorten it, or train with {role}.max_length={len(row)}",
            )

    def collate(self, rows: Sequence[Sequence[int]]) -> Sequences:
        return Sequences.pad(rows)

    def words(self, value: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", value)

    def profile(self, values: Sequence[str]) -> Profile:
        return text_profile(values)

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"characters": [*map(len, values)], "words": [len(value.split()) for value in values]}


def text_profile(values: Sequence[str]) -> Profile:
    """Counted in words between white space: no tokenizer is there yet."""
    met: set[str] = set()
    count = 0
    for text in values:
        words = text.split()
        count += len(words)
        met.update(words)
    letters = len(set("".join(met)))
    return Profile(count / max(1, len(values)), len(met), letters, max(map(len, values), default=0))
