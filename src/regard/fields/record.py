"""Record: fields with their values, `name[Blue Spice], area[riverside]` or a JSON object, read as text in one form.

`delexicalise` names fields whose values become placeholders (Wen et al. 2015): `hidden` hides them in a text about the
record too, and `values` gives them back. So names that were never seen can be read and written.

    field = Record(end=True, delexicalise=("name",))
    field.values("name[Blue Spice], area[riverside]")          # {"x_name": "Blue Spice"}
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar

from regard.errors import RegardError
from regard.fields import Where
from regard.fields.text import Text
from regard.find import PLAIN, In, Of, Spec, nearest
from regard.ranges import Length, LengthOrNone, ranged
from regard.records import parse, write
from regard.records.placeholders import put_back, set_aside
from regard.regions import Region, Token

__all__ = ["Record"]


class Record(Text):
    """A record to read, token by token: fields with their values."""

    kind: ClassVar[str] = "record"
    headers: ClassVar[tuple[str, ...]] = ("mr", "meaning_representation", "record", "data", "input", "source")

    @ranged
    def __init__(
        self,
        end: bool,
        delexicalise: Annotated[
            tuple[str, ...], "fields whose values become placeholders and are put back in the answer"
        ] = (),
        tokenizer: Annotated[Spec, In("text"), "how a record is split into tokens"] = "bpe",
        embed: Annotated[Spec, Of("fields.embed.words.Words"), "vectors of the tokens, learned or from a file"] = PLAIN,
        max_length: Annotated[Length, "longest record, in tokens"] = 1024,
        truncate: Annotated[LengthOrNone, "tokens read from the start of each record; 0 reads all of it"] = 0,
    ) -> None:
        super().__init__(end, tokenizer, embed, max_length, truncate)
        self.delexicalise = delexicalise

    def written(self, value: str, where: str = "") -> tuple[str, dict[str, str]]:
        """The record in the form with brackets, and the values that were set aside, by placeholder."""
        fields, values = set_aside(parse(value, where), self.delexicalise)
        return write(fields), values

    def takes(self, value: str) -> bool:
        try:
            return bool(parse(value))
        except RegardError:
            return False

    def fit(self, values: Sequence[str]) -> None:
        known = {field.name for value in values for field in parse(value)} if self.delexicalise else set()
        for name in self.delexicalise:
            if name not in known:
                raise RegardError(f"delexicalise: no record has a field {name!r}", do=nearest(name, known))
        super().fit([self.written(value)[0] for value in values])

    def encode(self, values: Sequence[str], where: Where, role: str = "record") -> list[list[int]]:
        written = [self.written(value, at)[0] for value, at in zip(values, where, strict=True)]
        return super().encode(written, where, role)

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        written = [self.written(value) for value in values]
        whole = [put_back(text, aside) for text, aside in written]
        return [
            tuple(one.token(token) for token in tokens if isinstance(token, Token))
            for one, tokens in zip(whole, super().regions([text for text, _ in written]), strict=True)
        ]

    def title(self, value: str) -> str:
        return put_back(*self.written(value)).text
