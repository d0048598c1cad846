"""Span: an answer that is a part of another role's text, given by its characters.

`locate` finds an answer in its document, `covering` the tokens that it lies in. Offsets are those of the user's own
text. An empty value says that the document has no answer.

    span = Span();  span.locate("Ada was born in London.", "London")          # (16, 22)
    span.covering([(0, 3), (4, 7), (8, 12), (13, 15), (16, 22)], (16, 22))     # (4, 4)
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from regard.errors import RegardError, brief
from regard.fields import Field, Profile, Where
from regard.fields.tokens import text_profile

__all__ = ["Span", "guessed"]

Characters = tuple[int, int]
"""From the first to the one after the last."""


class Span(Field):
    """A part of the document to predict; may be empty where there is no answer."""

    kind: ClassVar[str] = "span"
    headers: ClassVar[tuple[str, ...]] = ("answer", "answers", "answer_text", "span", "target", "output")
    textual: ClassVar[bool] = True
    about_document: ClassVar[bool] = True
    optional: ClassVar[bool] = True
    unanswered: bool = False  # whether some questions of the training data have no answer

    def fit(self, values: Sequence[str]) -> None:
        self.unanswered = not all(map(str.strip, values))
        if values and not any(map(str.strip, values)):
            raise RegardError("every answer is empty", expected="at least one answer that is a part of its document")

    def state(self) -> dict[str, Any]:
        return {"unanswered": self.unanswered}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.unanswered = bool(state["unanswered"])

    def encode(self, values: Sequence[str], where: Where, role: str = "answer") -> list[str]:
        """The values themselves: without its document an answer has no place. See `locate`."""
        return list(values)

    def length(self, row: Any) -> int:
        return 1

    def collate(self, rows: Sequence[Sequence[tuple[int, int]]]) -> Int[Tensor, "batch place 2"]:
        """The first and the last token of each place of each answer; −1 where an answer has fewer places."""
        most = max(map(len, rows))
        return torch.tensor([[*row, *[(-1, -1)] * (most - len(row))] for row in rows], dtype=torch.long)

    def words(self, value: str) -> list[str]:
        return re.findall(r"\w+|[^\w\s]", value)

    def profile(self, values: Sequence[str]) -> Profile:
        return text_profile(values)

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"characters": [*map(len, values)], "words": [len(value.split()) for value in values]}

    def doubts(self, train: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
        return guessed(train, pairs)

    def locate(self, document: str, answer: str, given: Characters | None = None, where: str = "") -> Characters:
        """Where an answer stands in its document: at the place given, or next to it; without one, where it first occurs
        as whole words, or else at all. Case and the width of spaces do not have to agree."""
        if given is not None and document[slice(*given)] == answer:
            return given
        pattern = _written(answer)
        for form, flags in ((_as_words(pattern), 0), (pattern, 0), (pattern, re.IGNORECASE)):
            if places := [found.span() for found in re.finditer(form, document, flags)]:
                return places[0] if given is None else min(places, key=lambda place: abs(place[0] - given[0]))
        raise RegardError(
            f"{where}: the answer {brief(answer)} is not in the document",
            expected="a part of the document",
            do="correct it, or train with answer=choice if the answers are single words",
        )

    @staticmethod
    def everywhere(document: str, answer: str, place: Characters) -> list[Characters]:
        """Every place where the answer stands as whole words; if there is none, the one given."""
        return [found.span() for found in re.finditer(_as_words(_written(answer)), document)] or [place]

    @staticmethod
    def covering(tokens: Sequence[Characters], place: Characters) -> tuple[int, int] | None:
        """The first and the last token that an answer has characters of; None where it has none of any."""
        first = bisect_right(tokens, place[0], key=lambda token: token[1])
        last = bisect_left(tokens, place[1], key=lambda token: token[0]) - 1
        return (first, last) if first <= last else None


def _written(answer: str) -> str:
    """The pattern of an answer, with any space between its words."""
    return r"\s+".join(map(re.escape, answer.split()))


def _as_words(pattern: str) -> str:
    return rf"(?<!\w){pattern}(?!\w)"


def guessed(train: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """What an answer that never looks at the document says against a model: one line, or none."""
    [(usual, _)] = Counter(train).most_common(1)
    if len({said for _, said in pairs}) == 1 and len({true for true, _ in pairs}) > 1:
        return [f"the same prediction for all {len(pairs):,} questions"]
    right = sum(true == said for true, said in pairs) / len(pairs)
    always = sum(true == usual for true, _ in pairs) / len(pairs)
    if right > always or always == 1:
        return []
    return [f"exact match {right:.1%}; always predicting the most frequent answer gives {always:.1%}"]
