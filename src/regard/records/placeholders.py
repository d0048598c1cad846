"""Delexicalisation: values that are hard to learn, such as names, replaced by placeholders and put back in the answer.

Wen et al. 2015, "Semantically Conditioned LSTM-based Natural Language Generation for Spoken Dialogue Systems",
section 3, call it delexicalising: "Blue Spice is a pub" → "x_name is a pub" → "Alimentum is a pub". A placeholder is
one word to every tokenizer.

    fields, values = set_aside(parse("name[Blue Spice], eatType[pub]"), ["name"])      # {"x_name": "Blue Spice"}
    hide("Blue Spice is a pub", values)                                                # "x_name is a pub"
    put_back("x_name is a pub", values).text
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from regard.records import RecordField, mentions
from regard.regions import Token

__all__ = ["PutBack", "hide", "put_back", "set_aside"]


def set_aside(fields: Sequence[RecordField], names: Collection[str]) -> tuple[list[RecordField], dict[str, str]]:
    """The fields with placeholders for the values of those named, and the values by placeholder."""
    found, values = [], dict[str, str]()
    for field in fields:
        if field.name in names:
            word = "x_" + "".join(c for c in field.name.lower() if c.isalnum())
            while word in values:
                word += "2"
            values[word] = field.value
            field = RecordField(field.name, word)
        found.append(field)
    return found, values


def hide(text: str, values: Mapping[str, str]) -> str:
    """The text with every mention of a value as its placeholder; long values first, for one may hold another."""
    for word, value in sorted(values.items(), key=lambda item: -len(item[1])):
        text = mentions(value).sub(word, text)
    return text


@dataclass(frozen=True)
class PutBack:
    """A text with its values, and for each of them where its placeholder stood and where it stands."""

    text: str
    moved: tuple[tuple[int, int, int, int], ...]

    def token(self, token: Token) -> Token:
        """A token of the text with placeholders, as it stands here; one that is a placeholder is the value."""
        if token.start < 0:
            return token
        start, end = self._place(token.start, 0), self._place(token.end, 1)
        whole = any((a, b) == (token.start, token.end) for a, b, _, _ in self.moved)
        return Token(self.text[start:end] if whole else token.text, start, end)

    def _place(self, at: int, side: int) -> int:
        """A position inside a placeholder is at that side of the value."""
        shift = 0
        for start, end, new_start, new_end in self.moved:
            if at >= end if side == 0 else at > end:
                shift = new_end - end
            elif start <= at if side == 0 else start < at:
                return (new_start, new_end)[side]
        return at + shift


def put_back(text: str, values: Mapping[str, str]) -> PutBack:
    """Every placeholder that has a value becomes it again."""
    if not values:
        return PutBack(text, ())
    pattern = re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, values)) + r")(?!\w)")
    moved, parts, length, last = [], list[str](), 0, 0
    for found in pattern.finditer(text):
        parts += [text[last : found.start()], values[found[0]]]
        length += found.start() - last
        moved.append((found.start(), found.end(), length, length + len(parts[-1])))
        length, last = length + len(parts[-1]), found.end()
    return PutBack("".join([*parts, text[last:]]), tuple(moved))
