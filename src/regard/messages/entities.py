"""Names, numbers, dates, addresses: what changes from message to message while the reply stays, each as a placeholder.

    placeholders("Call Mr. Brown at 555-0123 before 5 pm on March 3, see https://a.org")
    # "Call _name_ at _phone_ before _time_ on _date_, see _url_"

They are found by their form, with no model. Names are words with a capital inside a sentence; of texts in small letters
they are not found.
"""

import re

from regard.messages.language import SMALL_WORDS

__all__ = ["PLACEHOLDERS", "placeholders"]

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
FORMS: tuple[tuple[str, str], ...] = (
    ("_url_", r"(?:https?://|www\.)[^\s<>\"']+"),
    ("_email_", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    (
        "_money_",
        r"(?:[$€£]\s?\d[\d,.]*\d?(?:\s?(?:k|m|million|billion)\b)?|\b\d[\d,.]*\s?(?:dollars|euros|pounds|usd|eur|gbp)\b)",
    ),
    (
        "_date_",
        rf"\b(?:(?:{MONTH}\s+{DAY}(?:,?\s+\d{{4}})?)|(?:{DAY}\s+(?:of\s+)?{MONTH}(?:,?\s+\d{{4}})?)|\d{{4}}-\d{{2}}-\d{{2}}"
        r"|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})(?!\w)",
    ),
    ("_time_", r"\b(?:\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?|\d{1,2}\s?(?:[ap]\.m\.|[ap]m\b|o'clock\b))"),
    ("_phone_", r"(?<!\w)\+?\(?\d{3}\)?[\s.-]\d{3}[\s.-]\d{4}\b|(?<!\w)\d{3}-\d{4}\b|(?<!\w)\+\d[\d\s-]{7,}\d\b"),
    ("_number_", r"(?<![\w_])#?\d[\d,.]*\d?%?(?![\w_])"),
    ("_name_", r"@\w+|\b(?:mr|mrs|ms|dr|prof)\b\.?\s+[a-z][\w'-]+"),
)
PATTERNS = tuple((name, re.compile(form, re.IGNORECASE)) for name, form in FORMS)
PLACEHOLDERS = frozenset(name for name, _ in FORMS)
# Words that may have a capital inside a text and name nobody: people who write no full stops begin sentences with them.
COMMON = frozenset().union(*SMALL_WORDS.values()) | frozenset(
    [
        "i",
        "i'm",
        "i'll",
        "i've",
        "i'd",
        "ok",
        "okay",
        "oh",
        "wow",
        "hi",
        "hey",
        "hello",
        "thanks",
        "thank",
        "sure",
        "nice",
        "well",
        "maybe",
        "its",
        "havent",
        "im",
        "ive",
        "dont",
        "cant",
        "lol",
        "haha",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "english",
        "french",
        "german",
        "spanish",
        "chinese",
        "christmas",
        "easter",
        "tv",
        "pm",
        "am",
        "usa",
        "uk",
        "us",
        "then",
        "now",
        "also",
        "only",
        "still",
        "here",
        "let",
        "lets",
        "yeah",
        "yep",
        "nope",
        "sorry",
        "great",
        "good",
        "many",
        "most",
        "every",
        "after",
        "before",
        "until",
        "while",
        "because",
        "since",
        "though",
        "although",
        "really",
        "actually",
        "though",
        "tell",
        "see",
        "go",
        "come",
        "want",
        "need",
        "think",
        "should",
        "may",
        "might",
        "must",
        "whats",
        "hows",
        "where",
        "when",
        "which",
        "who",
        "whom",
        "whose",
        "these",
        "those",
        "such",
        "too",
        "very",
        "being",
        "am",
        "are",
        "were",
        "having",
        "does",
        "doing",
    ]
)
CAPITAL = re.compile(r"(?<=[\w,;:)'\"] )[A-ZÀ-Ý][a-zà-ÿ]+(?:['-][A-ZÀ-Ý]?[a-zà-ÿ]+)*(?: [A-ZÀ-Ý][a-zà-ÿ]+)*\b")


def placeholders(text: str) -> str:
    for name, pattern in PATTERNS:
        text = pattern.sub(name, text)
    return CAPITAL.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    words = found[0].split()
    return found[0] if all(word.lower() in COMMON for word in words) else "_name_"
