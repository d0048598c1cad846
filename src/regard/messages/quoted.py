"""Quoted and forwarded text: what somebody else wrote, below or between the lines of a mail.

without_quoted("Fine with me.\n\nOn Mon, Mar 4, Ann wrote:\n> Shall we meet?")      # "Fine with me."
"""

import re

__all__ = ["without_quoted"]

# A line from which on all is quoted or forwarded.
BELOW = re.compile(
    r"^\s*(?:"
    r"-{2,}\s*(?:original message|forwarded (?:message|by)|ursprüngliche nachricht|message d'origine)\b.*"
    r"|-{4,}\s*forwarded by .*"
    r"|begin forwarded message:?"
    r"|_{10,}"
    r"|on .{4,120} wrote:"
    r"|am .{4,120} schrieb .{0,80}:"
    r"|le .{4,120} a écrit ?:"
    r"|from: .*<.*@.*>.*"
    r")\s*$",
    re.IGNORECASE,
)
HEADER = re.compile(r"^\s*(?:from|sent|to|cc|date|subject|von|gesendet|an|betreff)\s*:\s*\S", re.IGNORECASE)
QUOTE = re.compile(r"^\s*(?:>|\|\s)")
WRAPPED = 2  # lines that an "On … wrote:" may be broken over


def without_quoted(text: str) -> str:
    """The lines that the writer wrote."""
    lines, kept = text.split("\n"), []
    for number, line in enumerate(lines):
        whole = " ".join(one.strip() for one in lines[number : number + WRAPPED])
        starts = line.lstrip().lower().startswith(("on ", "am ", "le "))
        if BELOW.match(line) or (starts and BELOW.match(whole)) or _headers(lines, number):
            break
        if not QUOTE.match(line):
            kept.append(line)
    return "\n".join(kept).strip()


def _headers(lines: list[str], number: int) -> bool:
    """Whether three lines of a mail's header begin here."""
    some = lines[number : number + 3]
    return len(some) == 3 and all(HEADER.match(line) for line in some)
