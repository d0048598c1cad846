"""Recordings and what is said in them, from a folder that holds both.

A folder holds a table (`metadata.csv`, `transcripts.tsv`, `.jsonl`; or one for each part, `train.tsv`, `test.tsv`) with
the columns `path` and `text`, or under other usual names; or it holds a text beside each recording:

    sounds/one.wav  sounds/one.txt
    sounds/train/…  sounds/test/…           # with parts

    find_transcripts("sounds")              # "sounds/metadata.csv", or "" where there is no table
    read_beside("sounds", log)
"""

import os
import re
from pathlib import Path

from regard.data.lines import each_line
from regard.data.readlog import ReadLog
from regard.errors import RegardError, counted
from regard.fields.audio import SUFFIXES
from regard.types import Example

__all__ = ["any_beside", "find_transcripts", "read_beside"]

NAMED = re.compile(r"(metadata|transcripts?|transcriptions?)\.(jsonl?|csv|tsv)(\.gz)?", re.IGNORECASE)


def find_transcripts(folder: str) -> str:
    """The one table of a folder that covers all parts, or "" where there is none."""
    here = Path(os.path.expanduser(folder))
    there = [one.name for one in sorted(here.iterdir()) if one.is_file() and NAMED.fullmatch(one.name)]
    if len(there) > 1:
        raise RegardError(f"{folder}: several tables: {', '.join(there)}", do="choose one with data.train=")
    return str(here / there[0]) if there else ""


def any_beside(folder: str) -> bool:
    """Whether there is a recording with its text beside it, in the folder or below."""
    return any(path.with_suffix(".txt").is_file() for path in _recordings(folder))


def read_beside(folder: str, log: ReadLog) -> list[Example]:
    """An example for each recording with a text, in the order of their paths."""
    examples, without = [], 0
    for path in _recordings(folder):
        text = path.with_suffix(".txt")
        if text.is_file():
            examples.append(Example((str(path),), " ".join(" ".join(each_line(str(text))).split()), str(text)))
        else:
            without += 1
    if not examples:
        raise RegardError(f"{folder}: no recording with its text", expected="one.wav and one.txt beside it, and so on")
    if without:
        log.decide(f"{folder}: {counted(without, 'recording')} without a .txt beside it left out")
    return examples


def _recordings(folder: str) -> list[Path]:
    here = Path(os.path.expanduser(folder))
    return sorted(path for path in here.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
