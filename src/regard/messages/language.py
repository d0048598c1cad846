"""Which language a text is in, by its commonest words and letters.

    language("Can you send me the report?")     # "en"
    language("ok")                              # "": too little to tell

Small words make up half of any running text and hardly overlap between languages. A language is told when its words
clearly outnumber those of every other one; letters of other scripts tell at once. Lists: the most frequent function
words of each language.
"""

import re
from collections import Counter
from importlib.resources import files

__all__ = ["LANGUAGES", "SMALL_WORDS", "language"]


def _read() -> dict[str, frozenset[str]]:
    lines = files("regard.messages").joinpath("small_words.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and line[0] != "#")
    return {name: frozenset(words.split()) for name, words in pairs}


SMALL_WORDS = _read()
OF_WORD = {
    word: tuple(name for name, words in SMALL_WORDS.items() if word in words)
    for word in frozenset().union(*SMALL_WORDS.values())
}
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
LANGUAGES = frozenset(SMALL_WORDS) | {"el", "ru", "zh", "ja", "ko", "ar", "he", "hi"}
SCRIPTS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "el": re.compile(r"[\u0370-\u03ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "he": re.compile(r"[\u0590-\u05ff]"),
    "hi": re.compile(r"[\u0900-\u097f]"),
}
LEAST = 2  # words of a language that must be there
LEAD = 1.5  # how many times those of the next one


def language(text: str) -> str:
    """The language as two letters; "" where there is too little to tell."""
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        for name, pattern in SCRIPTS.items():
            if letters and len(pattern.findall(text)) > 0.3 * letters:
                return name
    counts: Counter[str] = Counter()
    for word in WORD.findall(text.lower()):
        counts.update(OF_WORD.get(word, ()))
    (name, first), (_, second) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return name if first >= LEAST and first >= LEAD * second else ""
