"""Signatures and notices below a mail: what stands under "-- ", how to reach the writer, what the law department adds.

without_signature("See you there.\n-- \nAnn Miller\n+44 20 7946 0000")      # "See you there."
"""

import re

__all__ = ["without_signature"]

MARK = re.compile(r"^\s*(?:--|—|\*{3,}|_{3,}|-{5,})\s*$")
NOTICE = re.compile(
    r"^\s*(?:sent from my |get outlook for |this (?:e-?mail|message) (?:and any|is intended|may contain|contains)"
    r"|the information contained in this|confidentiality notice|do you yahoo|get your free|unsubscribe\b)",
    re.IGNORECASE,
)
CONTACT = re.compile(
    r"(?:[\w.+-]+@[\w-]+\.[\w.]+)|(?:https?://|www\.)|(?:\+?\(?\d[\d\s().-]{6,}\d)"
    r"|\b(?:phone|tel|fax|mobile|cell|office)\b\s*[:.]",
    re.IGNORECASE,
)
SHORT = 40  # characters of a line that names a person, a firm or a street
FEW = 6  # lines of a signature without a mark


def without_signature(text: str) -> str:
    """The text above the signature; a message that would be nothing but one stays as it is."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if number and (MARK.match(line) or NOTICE.match(line)):
            lines = lines[:number]
            break
    return "\n".join(_without_contact(lines)).strip() or text.strip()


def _without_contact(lines: list[str]) -> list[str]:
    """Without the last lines, where they say how to reach somebody, with the short lines above these."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    block = next((n for n in range(len(lines) - 1, -1, -1) if not lines[n].strip()), -1)
    last = lines[block + 1 :]
    of_contact = [bool(CONTACT.search(line)) for line in last]
    named = all(len(line) <= SHORT or found for line, found in zip(last, of_contact, strict=True))
    return lines[: block + 1] if block >= 0 and len(last) <= FEW and any(of_contact) and named else lines
