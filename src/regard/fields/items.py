"""Items: a list of ids separated by spaces, such as the pages that a person has visited.

field = Items();  field.fit(["b17 c4 b17"]);  field.regions(["b17 c4"])
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from regard.errors import RegardError
from regard.fields import Input, Profile, Where, drop_positions
from regard.fields.embed.words import Words
from regard.find import PLAIN, Of, Spec, call, table
from regard.ranges import Length, Number, Vocabulary, ranged
from regard.regions import Item, Region
from regard.text import special
from regard.types import Sequences

__all__ = ["Items"]

UNKNOWN = 1  # the number of an id that training did not have; 0 is padding


class Items(Input):
    """A list of ids with spaces between, each id with a vector of its own."""

    kind: ClassVar[str] = "items"
    noun: ClassVar[str] = "a list of ids"
    headers: ClassVar[tuple[str, ...]] = ("items", "sequence", "history", "ids", "session", "events", "text")
    spaced: ClassVar[bool] = True

    @ranged
    def __init__(
        self,
        vocab_size: Annotated[Vocabulary, "most different ids; the most frequent are kept"] = 100_000,
        min_frequency: Annotated[Number, "times an id must occur to get a vector of its own"] = 1,
        embed: Annotated[Spec, Of("fields.embed.words.Words"), "the vectors of the ids"] = PLAIN,
        max_length: Annotated[Length, "longest list, in ids"] = 1024,
    ) -> None:
        self.vocab_size, self.min_frequency = vocab_size, min_frequency
        self.embed, self.max_length = table(embed), max_length
        self.numbers: dict[str, int] = {}
        if self.embed.get("vectors"):
            raise RegardError("embed.vectors for items", expected="vectors that are learned", do="leave it out")

    def fit(self, values: Sequence[str]) -> None:
        counts = Counter(one for value in values for one in value.split())
        kept = sorted(
            (one for one, count in counts.items() if count >= self.min_frequency), key=lambda i: (-counts[i], i)
        )
        self._number(kept[: self.vocab_size - len(special)])

    def _number(self, ids: Sequence[str]) -> None:
        self.numbers = {one: number for number, one in enumerate(ids, len(special))}

    def state(self) -> dict[str, Any]:
        return {"ids": list(self.numbers)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._number([str(one) for one in state["ids"]])

    def encode(self, values: Sequence[str], where: Where, role: str = "list") -> list[list[int]]:
        rows = [[self.numbers.get(one, UNKNOWN) for one in value.split()] for value in values]
        for row, at in zip(rows, where, strict=True):
            if not 0 < len(row) <= self.max_length:
                raise RegardError(f"{at}: {len(row):,} ids in the {role}", expected=f"1 to {self.max_length:,}")
        return rows

    def collate(self, rows: Sequence[Sequence[int]]) -> Sequences:
        return Sequences.pad(rows)

    def embedding(self) -> Words:
        words: Words = call(Words, self.embed, vocab=len(special) + len(self.numbers), found=0)
        return words

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        return [tuple(Item(one, place) for place, one in enumerate(value.split())) for value in values]

    def drop(self, row: Sequence[int], positions: Sequence[int]) -> list[int]:
        return drop_positions(row, positions)

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"ids": [len(value.split()) for value in values]}

    def profile(self, values: Sequence[str]) -> Profile:
        met = {one for value in values for one in value.split()}
        return Profile(sum(len(value.split()) for value in values) / max(1, len(values)), len(met))
