"""Numbered lines: the stories of bAbI, and the Children's Book Test.

    1 Mary moved to the bathroom.                    a sentence
    2 Where is Mary?  TAB  bathroom  TAB  1           bAbI: question, answer, the sentences that give it
    21 … said XXXXX .  TAB  Baby  TAB  TAB  Baby|Bird|…   CBT: question, answer, and the words to choose from

Counting begins anew with each story. The document of a question are the sentences before it, with spaces between.
Weston et al. 2015, "Towards AI-Complete Question Answering"; Hill et al. 2015, "The Goldilocks Principle".

    read_numbered("qa1_single-supporting-fact_train.txt", lines, log)
"""

import re
from collections.abc import Iterable

from regard.data.readlog import ReadLog
from regard.errors import RegardError
from regard.types import Example

__all__ = ["is_numbered", "read_numbered"]

LINE = re.compile(r"(\d{1,6}) (.*)")
FIRST = re.compile(r"1 \S[^\n]*\r?\n2 \S")
MOST = 100_000  # sentences of a story: more are a file that never begins anew


def is_numbered(head: str) -> bool:
    """Whether a file that begins like this is of this form."""
    return FIRST.match(head) is not None


def read_numbered(path: str, lines: Iterable[str | None], log: ReadLog) -> list[Example]:
    """An example for each question."""
    examples: list[Example] = []
    story: dict[int, str] = {}
    for at, line in enumerate(lines, 1):
        if line is None or not line.strip():
            continue
        where = f"{path}:{at}"
        found = LINE.fullmatch(line)
        if found is None or not found[2].strip():
            log.bad("fields", where, repr(line[:40]), "a number, a space and a sentence")
            continue
        number, text = int(found[1]), found[2]
        if number == 1:
            story = {}
        if len(story) >= MOST:
            raise RegardError(f"{where}: more than {MOST:,} sentences", expected="a story that begins with line 1")
        if "\t" not in text:
            story[number] = text.strip()
            continue
        question, answer, *more = (part.strip() for part in text.split("\t"))
        if not answer or not story:
            log.bad("fields", where, repr(text[:40]), "a question and its answer, after the sentences of a story")
            continue
        places, document = _places(story)
        evidence = tuple(
            places[int(n)] for n in (more[0].split() if more else []) if n.isdecimal() and int(n) in places
        )
        choices = tuple(one for one in more[1].split("|") if one.strip()) if len(more) > 1 else ()
        examples.append(Example((document, question), answer, where, evidence=evidence, choices=choices))
    return examples


def _places(story: dict[int, str]) -> tuple[dict[int, tuple[int, int]], str]:
    """Where each sentence stands in the document, by its number, and the document."""
    places: dict[int, tuple[int, int]] = {}
    at = 0
    for number, sentence in story.items():
        places[number] = at, at + len(sentence)
        at += len(sentence) + 1
    return places, " ".join(story.values())
