"""Cloze: an answer that is one of the words of another role's text, or one of those that an example names.

Which tokens of a document belong to which word says `Candidates`: all its occurrences count, whatever their case.
Answers of the training data that are not in their document ("yes", "no") can be chosen too: they are read after the
document.

    cloze = Cloze();  cloze.learn(["Ada is here."], ["yes"]);  cloze.outside      # ("yes",)
    Candidates.of("Ada met Bo. Ada left.", [(0, 3), (4, 7), (8, 10), (10, 11), (12, 15), (16, 20)]).groups
    # [0, 1, 2, -1, 0, 3], of the words Ada, met, Bo and left
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from regard.errors import RegardError, brief
from regard.fields import Field, Profile, Where
from regard.fields.span import Span, guessed
from regard.fields.tokens import text_profile

__all__ = ["Candidates", "Cloze", "same_word"]

WORD = re.compile(r"@?\w+(?:[-'’.]\w+)*")
MOST = 1_000  # answers outside of their documents: with more, another way to answer was meant


def same_word(word: str) -> str:
    """What two spellings of one word have in common."""
    return " ".join(word.split()).casefold()


@dataclass(frozen=True)
class Candidates:
    """The words that can be chosen, and for each token which of them it belongs to (−1: none)."""

    names: tuple[str, ...]
    groups: tuple[int, ...]

    @staticmethod
    def of(document: str, tokens: Sequence[tuple[int, int]], choices: Iterable[str] = ()) -> "Candidates":
        """The words of a document, or of those named the ones that occur in it."""
        places: dict[str, list[tuple[int, int]]] = {}
        names: dict[str, str] = {}
        for found in WORD.finditer(document):
            key = same_word(found[0])
            places.setdefault(key, []).append(found.span())
            names.setdefault(key, found[0])
        if asked := {same_word(one): one for one in choices}:
            names = {key: name for key, name in asked.items() if key in places or _find(document, name, places)}
        groups = [-1] * len(tokens)
        for number, key in enumerate(names):
            for place in places[key]:
                if (covered := Span.covering(tokens, place)) is not None:
                    first, last = covered
                    groups[first : last + 1] = [number] * (last + 1 - first)
        return Candidates(tuple(names.values()), tuple(groups))

    def number(self, answer: str) -> int:
        """Which of the words an answer is; −1 if none."""
        keys = [same_word(name) for name in self.names]
        return keys.index(same_word(answer)) if same_word(answer) in keys else -1


def _find(document: str, name: str, places: dict[str, list[tuple[int, int]]]) -> bool:
    """Where several words, or a part of one, stand; noted in `places`."""
    found = [one.span() for one in re.finditer(re.escape(name), document, re.IGNORECASE)]
    if found:
        places[same_word(name)] = found
    return bool(found)


class Cloze(Field):
    """A word of the document to predict."""

    kind: ClassVar[str] = "cloze"
    headers: ClassVar[tuple[str, ...]] = ("answer", "word", "target", "label", "output")
    textual: ClassVar[bool] = True
    about_document: ClassVar[bool] = True
    outside: tuple[str, ...] = ()

    def learn(self, documents: Sequence[str], answers: Sequence[str], choices: Sequence[Sequence[str]] = ()) -> None:
        """Which answers are not in their documents."""
        found: dict[str, str] = {}
        for number, (document, answer) in enumerate(zip(documents, answers, strict=True)):
            key = same_word(answer)
            named = choices and choices[number]
            if not named and key not in found and re.search(re.escape(answer), document, re.IGNORECASE) is None:
                found[key] = answer
        if len(found) > MOST:
            example = next(iter(found.values()))
            raise RegardError(
                f"{len(found):,} different answers that are not in their documents, for example {brief(example)}",
                expected=f"at most {MOST:,}",
                do="check that data.document= names the right column",
            )
        self.outside = tuple(sorted(found.values()))

    def state(self) -> dict[str, Any]:
        return {"outside": list(self.outside)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.outside = tuple(str(one) for one in state["outside"])

    def encode(self, values: Sequence[str], where: Where, role: str = "answer") -> list[str]:
        """The values themselves: which word of a document each is says `Candidates`."""
        return list(values)

    def length(self, row: Any) -> int:
        return 1

    def collate(self, rows: Sequence[int]) -> Int[Tensor, " batch"]:
        return torch.tensor([*rows], dtype=torch.long)

    def words(self, value: str) -> list[str]:
        return WORD.findall(value)

    def profile(self, values: Sequence[str]) -> Profile:
        return text_profile(values)

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"characters": [*map(len, values)]}

    def doubts(self, train: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
        return guessed(train, pairs)
