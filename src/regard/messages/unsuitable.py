"""Replies that are never suggested: rude, intimate, violent; those with a blank to fill; those of nothing but signs.

    unsuitable("Shut up.")              # "rude"
    unsuitable("See you at _time_.")    # "placeholder"
    unsuitable("Sounds good!")          # ""

The terms are in unsuitable.txt, in the form of sensitive.txt (see sensitive.py). A reply on a sensitive subject is
unsuitable too.
"""

from regard.messages.entities import PLACEHOLDERS
from regard.messages.sensitive import sensitive, subject_of

__all__ = ["unsuitable"]


def unsuitable(reply: str) -> str:
    """Why a reply is not to be suggested; "" where nothing speaks against it."""
    if not any(map(str.isalpha, reply)):
        return "no words"
    if any(name in reply for name in PLACEHOLDERS):
        return "placeholder"
    return subject_of("unsuitable.txt", reply) or sensitive(reply)
