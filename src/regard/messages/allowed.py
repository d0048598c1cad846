"""The replies that may be suggested: made from those in the data, kept in a file that people may edit.

    replies = made(["Sure!", "sure", "No, sorry.", "At _time_."])       # Sure! (accept, positive, 2), No, sorry. (…)
    write_replies(Path("runs/reply/replies.tsv"), replies)
    read_replies(Path("runs/reply/replies.tsv"))

A line is a reply, its intent, its polarity and how often the data has it, with TABs between. Lines may be removed,
changed and added; what a reply says may be rewritten as long as the model knows its words.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from regard.errors import RegardError, brief
from regard.files import read_whole, write_whole
from regard.messages.intents import Polarity, intents, polarity
from regard.messages.normal import key, normal
from regard.messages.unsuitable import unsuitable
from regard.ranges import Count, Few, Number

__all__ = ["AllowedReply", "made", "read_replies", "write_replies"]

HEAD = "reply\tintent\tpolarity\tcount"
SIZE = 2**26  # bytes of a file
OFTEN = 100  # replies that come twice


@dataclass(frozen=True)
class AllowedReply:
    """One reply: as it is shown, what it means, and how often it was met."""

    text: str
    intent: str
    polarity: Polarity
    count: int

    @property
    def key(self) -> str:
        return key(self.text)


def made(
    replies: Iterable[str],
    most: Annotated[Number, "largest number of replies that may be suggested"] = 20_000,
    min_count: Annotated[
        Count, "how often the data must have a reply; 0 is 2 where at least 100 replies come twice, and else 1"
    ] = 0,
    max_words: Annotated[Few, "longest reply that may be suggested, in words"] = 10,
) -> list[AllowedReply]:
    """The most frequent replies that can be suggested, each in its most frequent spelling."""
    spelled: dict[str, Counter[str]] = {}
    for reply in replies:
        text = " ".join(normal(reply).split())
        if text and (same := key(text)) and len(same.split()) <= max_words:
            spelled.setdefault(same, Counter())[text] += 1
    every = {same: some.total() for same, some in spelled.items()}
    least = min_count or (2 if sum(count > 1 for count in every.values()) >= OFTEN else 1)
    counts = {same: count for same, count in every.items() if count >= least}
    chosen: list[str] = []
    for same in sorted(counts, key=lambda one: (-counts[one], one)):
        if len(chosen) == most:
            break
        if not unsuitable(same):
            chosen.append(same)
    shown = [min(spelled[same], key=lambda text: (-spelled[same][text], text)) for same in chosen]
    shown = [text[0].upper() + text[1:] for text in shown]
    return [
        AllowedReply(text, intent, polarity(text), counts[same])
        for text, intent, same in zip(shown, intents(shown), chosen, strict=True)
    ]


def write_replies(path: Path, replies: Sequence[AllowedReply]) -> Path:
    rows = (f"{one.text}\t{one.intent}\t{one.polarity}\t{one.count}" for one in replies)
    return write_whole(path, "\n".join([HEAD, *rows]) + "\n")


def read_replies(path: Path) -> list[AllowedReply]:
    """The replies of a file; intent, polarity and count may be left out."""
    try:
        lines = read_whole(path, SIZE).decode("utf-8").removeprefix("\ufeff").splitlines()
    except UnicodeDecodeError as error:
        raise RegardError(f"{path}: not UTF-8 (byte {error.start + 1})", do="save it as UTF-8") from None
    found: list[AllowedReply] = []
    met: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or (number == 1 and line == HEAD):
            continue
        one = _read(line, f"{path}:{number}")
        if one.key in met:
            raise RegardError(f"{path}:{number}: {brief(one.text)} stands in line {met[one.key]} too", do="remove one")
        met[one.key] = number
        found.append(one)
    if not found:
        raise RegardError(f"{path}: no replies", expected="one per line")
    return found


def _read(line: str, where: str) -> AllowedReply:
    cells = [cell.strip() for cell in line.split("\t")]
    if len(cells) > 4:
        raise RegardError(f"{where}: {len(cells)} fields", expected="4 (reply, intent, polarity, count)")
    text, intent, side, count = (*cells, *[""] * (4 - len(cells)))
    if not key(text):
        raise RegardError(f"{where}: a reply without words", expected="at least one word")
    if side not in ("", "positive", "negative", "neutral"):
        raise RegardError(f"{where}: polarity {brief(side)}", expected="positive, negative or neutral")
    if count and not (count.isascii() and count.isdecimal() and len(count) < 10):
        raise RegardError(f"{where}: count {brief(count)}", expected="a whole number")
    told: Polarity = polarity(text) if side == "" else side  # type: ignore[assignment]
    return AllowedReply(text, intent or intents([text])[0], told, int(count or 1))
