"""Greetings at the beginning and closings at the end: "Hi Ann," and "Best regards, Ben" say nothing to reply to.

    without_greeting("Hi Ann,\ncan you come?")              # "can you come?"
    without_closing("Can you come?\nBest regards,\nBen")    # "Can you come?"

A message that is only a greeting ("Hello!", "Thanks") stays: it may well be answered.
"""

import re

__all__ = ["without_closing", "without_greeting"]

NAMES = r"(?: (?:all|team|everyone|everybody|folks|there|both|guys|[A-ZÀ-Ý][\w'.-]*)){0,3}"
GREETING = re.compile(
    r"^\s*(?:(?i:hi|hello|hey|hiya|dear|good (?:morning|afternoon|evening|day)|greetings|hallo|liebe[rs]?|guten tag"
    rf"|bonjour|salut|hola)){NAMES}\s*(?:[,!.:–-]+|\n)\s*",
)
CLOSING = re.compile(
    r"(?i:(?:(?:with )?(?:best|kind|warm|kindest|warmest)(?: regards| wishes)?|(?:many )?thanks(?: again| in advance"
    r"| a lot)?|thank you(?: very much| in advance)?|thx|regards|cheers|sincerely(?: yours)?|yours(?: truly| sincerely"
    r"| faithfully)?|all the best|take care|love|xoxo|mit freundlichen grüßen|viele grüße|liebe grüße|cordialement"
    r"|saludos))"
)
LAST = re.compile(
    rf"(?:^|\n|(?<=[.?!] ))\s*{CLOSING.pattern}\s*[,.!–-]*\s*"
    r"(?:\n?\s*[A-ZÀ-Ý][\w'.-]*(?: [A-ZÀ-Ý][\w'.-]*){0,2})?\s*[.,]?\s*$"
)
NAMED = re.compile(r"\n\s*(?:[-–—~]\s*)?[A-ZÀ-Ý][\w'.-]*(?: [A-ZÀ-Ý][\w'.-]*)?\s*$")  # a last line that is a name


def without_greeting(text: str) -> str:
    return GREETING.sub("", text, count=1).strip() or text.strip()


def without_closing(text: str) -> str:
    shorter = LAST.sub("", text)
    if shorter == text and "\n" in text.strip():
        shorter = NAMED.sub("", text)
    return shorter.strip() or text.strip()
