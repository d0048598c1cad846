"""Messages: mails and chat lines, cleaned before they are read.

field = Message(end=True);  field.fit(["Hi Ann,\ncan you come?\nBest, Ben"]);  field.title(…)  →  "can you come?"

What stands in an attention map is the message as the model reads it: cleaned, in one line.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from regard.errors import RegardError, counted
from regard.fields import Where
from regard.fields.text import Text
from regard.find import PLAIN, In, Of, Spec, call, table
from regard.messages.clean import Cleaning
from regard.messages.language import LANGUAGES, language
from regard.messages.sensitive import sensitive
from regard.ranges import Length, LengthOrNone, ranged
from regard.regions import Region

__all__ = ["Message"]

WORDS: Spec = {"name": "word", "lower": True, "split": "punctuation", "min_frequency": 2, "vocab_size": 8_000}


class Message(Text):
    """A message to reply to."""

    kind: ClassVar[str] = "message"
    noun: ClassVar[str] = "a message"
    headers: ClassVar[tuple[str, ...]] = (
        "message",
        "mail",
        "email",
        "post",
        "utterance",
        "context",
        "question",
        "body",
    )

    @ranged
    def __init__(
        self,
        end: bool,
        tokenizer: Annotated[Spec, In("text"), "how text is split into tokens; rare words are read as unknown"] = WORDS,
        embed: Annotated[Spec, Of("fields.embed.words.Words"), "word vectors, learned or from a file"] = PLAIN,
        max_length: Annotated[Length, "longest message, in tokens"] = 1024,
        truncate: Annotated[LengthOrNone, "tokens read from the start of each message; 0 reads all of it"] = 80,
        clean: Annotated[Spec, Of("messages.clean.Cleaning"), "steps of cleaning, each of which can be off"] = PLAIN,
        language: Annotated[
            str, "language of the messages to reply to, such as en; auto is that of most messages, any takes all"
        ] = "auto",
    ) -> None:
        super().__init__(end, tokenizer, embed, max_length, truncate)
        if language not in LANGUAGES | {"auto", "any"}:
            known = ", ".join(sorted(LANGUAGES))
            raise RegardError(f"message.language={language!r}", expected=f"auto, any or one of {known}")
        self.clean: Cleaning = call(Cleaning, table(clean))
        self.cleaned = lru_cache(100_000)(self.clean)
        self.asked = self.language = language

    def fit(self, values: Sequence[str]) -> None:
        texts = [self.cleaned(value) for value in values]
        self.settle(values)
        super().fit(texts)
        others = Counter(filter(None, map(self.unread, values)))
        self.notes += [
            f"no suggestion is learned for {counted(n, 'message')}: {why}" for why, n in sorted(others.items())
        ]

    def settle(self, values: Sequence[str]) -> None:
        """Take the language of most messages for that of the model, where none was named."""
        if self.asked == "auto":
            found = Counter(filter(None, (language(self.cleaned(value)) for value in values[:20_000])))
            self.language = found.most_common(1)[0][0] if found else "any"

    def unread(self, value: str) -> str:
        """Why nothing may be suggested for a message, whatever the model says; "" where something may."""
        return self._unread(self.cleaned(value), self.language)

    @staticmethod
    @lru_cache(100_000)
    def _unread(text: str, own: str) -> str:
        if not any(map(str.isalnum, text)):
            return "nothing is left after cleaning"
        if subject := sensitive(text):
            return f"sensitive ({subject})"
        told = language(text)
        return f"not in the language of the model ({told})" if told and own not in (told, "any", "auto") else ""

    def state(self) -> dict[str, Any]:
        return {**super().state(), "language": self.language}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.language = str(state["language"])

    def encode(self, values: Sequence[str], where: Where, role: str = "message") -> list[Any]:
        return super().encode([self.cleaned(value) for value in values], where, role)

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        return super().regions([self.cleaned(value) for value in values])

    def title(self, value: str) -> str:
        return str(self.cleaned(value))
