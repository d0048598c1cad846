"""SQuAD's JSON: articles of paragraphs, each with its questions and their answers.

    {"data": [{"title": …, "paragraphs": [{"context": …, "qas": [
        {"id": …, "question": …, "answers": [{"text": …, "answer_start": …}], "is_impossible": false}]}]}]}

Rajpurkar et al. 2016 (version 1.1) and 2018 (2.0, where a question may have no answer). `answers_of` reads the answers
of a question in any of their forms: these, `{"text": […], "answer_start": […]}` as in the Hugging Face hub, or texts.

    read_squad("train-v1.1.json.gz", TextFile(path))     # an Example for each question, with all of its answers
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.errors import RegardError, brief
from regard.types import Example

__all__ = ["answers_of", "is_squad", "read_squad"]

MOST = 1 << 28  # characters of a file: all of it is one value
HEAD = re.compile(r'\s*\{\s*"(version|data)"\s*:')


def is_squad(head: str) -> bool:
    """Whether a file that begins like this is of this form."""
    return HEAD.match(head) is not None


def read_squad(path: str, file: TextFile, log: ReadLog) -> list[Example]:
    """An example for each question; `where` has its id."""
    pieces: list[str] = []
    size = 0
    for some in file.texts():
        pieces.append(some)
        size += len(some)
        if size > MOST:
            raise RegardError(f"{path}: more than {MOST:,} characters", do="split it into smaller files")
    try:
        whole = json.loads("".join(pieces))
    except (ValueError, RecursionError) as error:
        raise RegardError(f"{path}: not JSON ({error})", expected="SQuAD's JSON", do="repair the file") from None
    examples: list[Example] = []
    for at, document, asked in _questions(path, whole):
        try:
            where = f"{path}:{_text(asked, 'id', at) if 'id' in asked else at}"
            question = _text(asked, "question", at)
            given = asked.get("answers", [])
            texts, spans = answers_of([] if asked.get("is_impossible") is True else given, where)
        except RegardError as error:
            log.failed("value", f"{path}:{at}", error)
            continue
        examples.append(Example((document, question), texts[0], where, alternatives=texts[1:], spans=spans))
    if not examples:
        raise RegardError(f"{path}: no questions", expected="SQuAD's JSON: data, paragraphs, qas")
    return examples


def _questions(path: str, whole: Any) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for a, article in enumerate(_list(whole, "data", path)):
        here = f"data[{a}]"
        for b, paragraph in enumerate(_list(article, "paragraphs", f"{path}:{here}")):
            there = f"{here}.paragraphs[{b}]"
            document = _text(paragraph, "context", f"{path}:{there}")
            for c, asked in enumerate(_list(paragraph, "qas", f"{path}:{there}")):
                if not isinstance(asked, Mapping):
                    raise RegardError(f"{path}:{there}.qas[{c}] is {brief(asked, 40)}", expected="an object")
                yield f"{there}.qas[{c}]", document, asked


def _list(table: Any, key: str, where: str) -> list[Any]:
    found = table.get(key) if isinstance(table, Mapping) else None
    if not isinstance(found, list):
        raise RegardError(f"{where}: {key!r} is {brief(found, 40)}", expected="a list, as in SQuAD's JSON")
    return found


def _text(table: Any, key: str, where: str) -> str:
    found = table.get(key) if isinstance(table, Mapping) else None
    if not isinstance(found, str):
        raise RegardError(f"{where}: {key!r} is {brief(found, 40)}", expected="a text")
    return found


def answers_of(given: Any, where: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The different answers of a question and where each stands in its document; one empty answer where there is none.
    Without the place of every one no place is given."""
    wrong = RegardError(
        f"{where}: answers are {brief(given, 60)}",
        expected='texts, objects with "text" and "answer_start", or an object with lists of both',
    )
    rows: list[tuple[Any, Any]]
    if isinstance(given, Mapping):
        texts, starts = given.get("text"), given.get("answer_start")
        if isinstance(texts, str):
            texts, starts = [texts], [starts]
        starts = [None] * len(texts) if isinstance(texts, list) and starts is None else starts
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            raise wrong
        rows = list(zip(texts, starts, strict=True))
    elif isinstance(given, list):
        rows = [
            (one.get("text"), one.get("answer_start")) if isinstance(one, Mapping) else (one, None) for one in given
        ]
    else:
        rows = [(given, None)]
    places: dict[str, int | None] = {}
    for text, start in rows:
        whole = isinstance(start, int) and not isinstance(start, bool) and start >= 0
        if not isinstance(text, str) or not (start is None or start == -1 or whole):
            raise wrong
        places.setdefault(text, start if whole else None)
    if not places:
        return ("",), ()
    starts = list(places.values())
    known = all(start is not None for start in starts)
    spans = tuple((start, start + len(text)) for text, start in places.items() if start is not None)
    return tuple(places), spans if known else ()
