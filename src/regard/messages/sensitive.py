"""Messages on which nothing should be suggested, however likely a reply: illness, death, dismissal, threats, passwords.

A list of terms by subject, sensitive.txt, which anyone can read: a message with one of them is sensitive. It is crude,
and meant to be: a suggestion too few costs little, a cheerful one under the news of a death costs much.

    sensitive("my father passed away last night")       # "death"
    sensitive("see you on Friday")                      # ""

In the list a line is a term: words in small letters, `*` for any letters at the end of a word, ` ... ` for up to four
words between two.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files

from regard.messages.normal import normal

__all__ = ["TermList", "listed", "sensitive", "subject_of"]


def listed(text: str) -> dict[str, list[str]]:
    """A list of terms by its headings, which stand in brackets; lines that begin with # are remarks."""
    found: dict[str, list[str]] = {}
    subject = ""
    for line in map(str.strip, text.split("\n")):
        if line.startswith("[") and line.endswith("]"):
            subject = line[1:-1]
        elif line and not line.startswith("#"):
            found.setdefault(subject, []).append(line.lower())
    return found


class TermList:
    """TermList that are looked for as whole words; a text in which none of them begins is told at once."""

    def __init__(self, terms: Iterable[str]) -> None:
        every = sorted(terms, key=len, reverse=True)
        self.pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(_form, every))})(?!\w)", re.IGNORECASE)
        firsts = [re.split(r"[^\w*]", term)[0] for term in every]
        self.words = {first for first in firsts if not first.endswith("*")}
        self.stems = {first[:-1] for first in firsts if first.endswith("*")}

    def begins(self, word: str) -> bool:
        """Whether a term may begin with this word."""
        return word in self.words or any(word[:end] in self.stems for end in range(2, len(word) + 1))

    def __call__(self, text: str) -> bool:
        return any(map(self.begins, re.findall(r"\w+", text.lower()))) and self.pattern.search(text) is not None


def _form(term: str) -> str:
    """A term as a pattern: four words at most stand where it has "..."."""
    form = ""
    for word in term.split():
        gap = r"\W+" if form and not form.endswith("{0,4}?\\W+") else ""
        form += r"(?:\W+\w+){0,4}?\W+" if word == "..." else gap + re.escape(word).replace(r"\*", r"\w*")
    return form


@cache
def lists(name: str) -> Sequence[tuple[str, TermList]]:
    """The subjects of a list of this package, with their terms."""
    text = files("regard.messages").joinpath(name).read_text(encoding="utf-8")
    return [(subject, TermList(terms)) for subject, terms in listed(text).items()]


@lru_cache(100_000)
def begun(name: str, word: str) -> frozenset[str]:
    """The subjects of a list of which a term may begin with this word."""
    return frozenset(subject for subject, there in lists(name) if there.begins(word))


def subject_of(name: str, text: str) -> str:
    """The first subject of a list that the text touches; "" for none."""
    near = frozenset().union(*(begun(name, word) for word in re.findall(r"\w+", text.lower())))
    return next((subject for subject, there in lists(name) if subject in near and there.pattern.search(text)), "")


def sensitive(message: str) -> str:
    """The first subject of the list that the message touches; "" for none."""
    return subject_of("sensitive.txt", normal(message))
