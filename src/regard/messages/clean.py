"""Cleaning: what a message says, without what surrounds it. Each step is a function that can be switched off.

    Cleaning()("Hi Ann,\nis the report of March 3 ready?\nBest, Ben")       # "is the report of _date_ ready?"
    Cleaning(greeting=False).steps(text)       # [("as it came", …), ("quoted", …), …], for looking at it

Rare words are not a step of their own: the tokenizer reads a word that is rarer than its `min_frequency` as unknown.
"""

from collections.abc import Callable
from typing import Annotated

from regard.messages.entities import placeholders
from regard.messages.normal import normal
from regard.messages.quoted import without_quoted
from regard.messages.salutation import without_closing, without_greeting
from regard.messages.signature import without_signature
from regard.ranges import LengthOrNone, ranged

__all__ = ["STEPS", "Cleaning"]

STEPS: dict[str, Callable[[str], str]] = {
    "quoted": without_quoted,
    "signature": without_signature,
    "greeting": without_greeting,
    "closing": without_closing,
    "entities": placeholders,
}


class Cleaning:
    """The steps, in their order."""

    @ranged
    def __init__(
        self,
        quoted: Annotated[bool, "remove quoted and forwarded text"] = True,
        signature: Annotated[bool, "remove signatures and notices below a mail"] = True,
        greeting: Annotated[bool, "remove a greeting at the beginning, such as Hi Ann"] = True,
        closing: Annotated[bool, "remove a closing at the end, such as Best regards and a name"] = True,
        entities: Annotated[
            bool, "replace names, numbers, dates, times, phone numbers, prices and addresses by placeholders"
        ] = True,
        characters: Annotated[LengthOrNone, "characters kept of each message, from its start; 0 keeps all"] = 2_000,
    ) -> None:
        on = {"quoted": quoted, "signature": signature, "greeting": greeting, "closing": closing, "entities": entities}
        self.on, self.characters = on, characters

    def __call__(self, text: str) -> str:
        return self.steps(text)[-1][1]

    def steps(self, text: str) -> list[tuple[str, str]]:
        """The text as it came and after each step that is on; the last is in one line."""
        text = normal(text)
        found = [("as it came", text)]
        for name, step in STEPS.items():
            if self.on[name]:
                text = step(text)
                found.append((name, text))
        text = " ".join(text.split())
        return [*found, ("one line", text[: self.characters] if self.characters else text)]
