"""Conversations → messages and their replies: JSON lines, each a list of turns; each turn replies to the one before.

    ["Hi, are you coming tonight?", "Sure!", "Great, see you at eight."]
    {"turns": [{"text": "Hi, are you coming tonight?"}, {"text": "Sure!"}]}

A turn is a text, or an object with one under `text`, `utterance` or `content`; an object may have the list under
`turns`, `dialog`, `dialogue`, `utterances`, `messages` or `conversation`. The last turn has no reply, which says
little: a conversation ends somewhere. It is left out.

    are_turns("train.jsonl.gz");  read_turns("train.jsonl.gz", "auto", log)
"""

import json
from itertools import pairwise
from typing import Any

from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.errors import RegardError, brief
from regard.types import Example

__all__ = ["are_turns", "read_turns"]

LISTS = ("turns", "dialog", "dialogue", "utterances", "messages", "conversation")
TEXTS = ("text", "utterance", "content")
ENDINGS = (".jsonl", ".ndjson", ".json", ".txt")


def are_turns(path: str) -> bool:
    """Whether the first line of a file is a list of turns."""
    if not path.removesuffix(".gz").lower().endswith(ENDINGS):
        return False
    head = TextFile(path).head.lstrip().split("\n")[0].replace(" ", "")
    return head.startswith(('["', *(f'{{"{name}":[' for name in LISTS)))


def read_turns(path: str, encoding: str, log: ReadLog) -> list[Example]:
    """An example for each turn but the last of each conversation."""
    examples: list[Example] = []
    expected = "a list of texts, each a turn of the conversation"
    for number, line in enumerate(TextFile(path, encoding, log).lines(), 1):
        if line is None:
            continue
        if not line.strip():
            log.blank(path, number)
            continue
        where = f"{path}:{number}"
        try:
            turns = _turns(json.loads(line))
        except (ValueError, RecursionError) as error:
            log.bad("json", where, f"not JSON ({error})", expected)
            continue
        if turns is None:
            log.bad("value", where, brief(line, 40), expected)
            continue
        said = [turn for turn in turns if turn.strip()]
        examples += [Example((a,), b, where) for a, b in pairwise(said)]
    if not examples:
        raise RegardError(f"{path}: no turn with a reply", expected=f"conversations, each on a line: {expected}")
    return examples


def _turns(value: Any) -> list[str] | None:
    """The turns as texts; None where they are something else."""
    if isinstance(value, dict):
        value = next((value[name] for name in LISTS if name in value), None)
    if not isinstance(value, list):
        return None
    texts: list[str] = []
    for one in value:
        text = next((one[name] for name in TEXTS if name in one), None) if isinstance(one, dict) else one
        if not isinstance(text, str):
            return None
        texts.append(text)
    return texts
