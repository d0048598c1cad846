"""One form for texts that differ only in how they were typed: quotes, spaces, and spaces before punctuation.

normal("Well , I ’ m  fine .")          # "Well, I'm fine."
key("I'm fine.") == key("i ' m fine!")   # how replies are told apart
"""

import re
import unicodedata

__all__ = ["key", "normal"]

QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "…": "...", "\u00a0": " ", "\u200b": ""})
SPACES = re.compile(r"[ \t\r\f\v]+")
BEFORE = re.compile(r" +([,.;:?!)\]])")
APOSTROPHE = re.compile(r"(?<=\w) ?' ?(?=(?:s|m|d|t|re|ve|ll|S|M|D|T|Re|Ve|Ll)\b)")
LAST = " .!,;:-*\"'~)(\n"


def normal(text: str) -> str:
    """The text as it would be printed; lines stay."""
    text = unicodedata.normalize("NFC", text).translate(QUOTES)
    text = BEFORE.sub(r"\1", SPACES.sub(" ", APOSTROPHE.sub("'", text)))
    return "\n".join(line.strip() for line in text.strip().split("\n"))


def key(reply: str) -> str:
    """What a reply says, in small letters, in one line, without the punctuation around it; a question mark counts."""
    return " ".join(normal(reply).lower().split()).strip(LAST)
