"""History: the items of one user in the order of time, and the item that follows them.

A value is a list of ids with spaces between, or `user:ID` for the history of a user whose data the model was trained
on. Ids that training did not have are left out of what the network reads.

    history = History();  history.fit(["b17 c4 b17", "c4 a1"]);  history.encode(["c4 b17"], [""])
    item = NextItem(history);  item.encode(["a1"], [""])
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor

from regard.errors import RegardError, brief, counted
from regard.fields import Field, Where
from regard.fields.items import UNKNOWN, Items
from regard.find import Of, Spec, nearest
from regard.ranges import Number, Range, Vocabulary, ranged
from regard.regions import Item, Region
from regard.text import special
from regard.types import Sequences

__all__ = ["FIRST", "USER", "History", "NextItem"]

FIRST = len(special)  # the number of the first item
USER = "user:"  # what a value begins with that names a user
VECTORS: Spec = {"dim": 64}


class History(Items):
    """The items of a user in the order of time: ids with spaces between, or `user:ID`."""

    headers: ClassVar[tuple[str, ...]] = ()
    noun: ClassVar[str] = "a history of items"
    per_user: ClassVar[bool] = True

    @ranged
    def __init__(
        self,
        vocab_size: Annotated[Vocabulary, "most different items; the most frequent are kept"] = 1_000_000,
        min_frequency: Annotated[Number, "times an item must occur to be recommended"] = 1,
        embed: Annotated[Spec, Of("fields.embed.words.Words"), "the vectors of the items"] = VECTORS,
        min_length: Annotated[
            int, Range(4, 10**6), "fewest items of a user; users with fewer are left out of the data"
        ] = 4,
        repeats: Annotated[
            bool, "keep repeated items, and recommend items of the history again; false keeps the first of each"
        ] = False,
    ) -> None:
        super().__init__(vocab_size, min_frequency, embed)
        self.min_length, self.repeats = min_length, repeats
        self.users: dict[str, str] = {}

    @property
    def ids(self) -> list[str]:
        """The items in the order of their numbers, which begin at `FIRST`."""
        return list(self.numbers)

    def state(self) -> dict[str, Any]:
        rows = {user: [self.numbers[one] for one in self._known(value)] for user, value in self.users.items()}
        return {**super().state(), "users": rows}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        ids, users = self.ids, state["users"]
        self.users = {str(user): " ".join(ids[number - FIRST] for number in row) for user, row in users.items()}

    def _known(self, value: str) -> list[str]:
        return [one for one in value.split() if one in self.numbers]

    def items(self, value: str, where: str = "") -> list[str]:
        """The ids of a value; those of a user where it names one."""
        if not value.startswith(USER) or value in self.numbers:
            return value.split()
        user = value.removeprefix(USER).strip()
        if user not in self.users:
            said = f"{where}: no user {brief(user)}" if where else f"no user {brief(user)}"
            if not self.users:
                raise RegardError(said, expected="items, since this run keeps no users' histories")
            near = nearest(user, self.users)
            do = near if near.startswith("did") else f"for example {USER}{next(iter(self.users))}"
            raise RegardError(said, expected="a user of the training data, or items", do=do)
        return self.users[user].split()

    def near(self, item: str) -> str:
        """What an unknown item may have been meant to be, or a few items that are known."""
        said = nearest(item, self.numbers)
        return said if said.startswith("did") else f"for example {', '.join(self.ids[:3])}"

    def encode(self, values: Sequence[str], where: Where, role: str = "history") -> list[list[int]]:
        rows = []
        for value, at in zip(values, where, strict=True):
            row = [self.numbers.get(one, UNKNOWN) for one in self.items(value, at)]
            if not row:
                raise RegardError(f"{at}: an empty {role}", expected="at least one item")
            rows.append(row)
        return rows

    def collate(self, rows: Sequence[Sequence[int]]) -> Sequences:
        """What is known of each."""
        return Sequences.pad([[number for number in row if number >= FIRST] for row in rows])

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        return [tuple(Item(one, place) for place, one in enumerate(self.items(value))) for value in values]

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"items": [len(self.items(value)) for value in values]}


class NextItem(Field):
    """The item that follows a history, by the history's own numbers."""

    kind: ClassVar[str] = "item"

    def __init__(self, history: History) -> None:
        self.history = history

    def encode(self, values: Sequence[str], where: Where, role: str = "item") -> list[int]:
        """An item that training did not have cannot be recommended; it is no error, but always a miss."""
        for value, at in zip(values, where, strict=True):
            if len(value.split()) != 1:
                raise RegardError(f"{at}: {counted(len(value.split()), 'id')} as the {role}", expected="one")
        return [self.history.numbers.get(value, UNKNOWN) for value in values]

    def length(self, row: Any) -> int:
        return 1

    def collate(self, rows: Sequence[int]) -> Tensor:
        return torch.tensor(rows, dtype=torch.long)

    def doubts(self, train: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
        said = {answer for _, answer in pairs}
        return [f"the same recommendation for all {len(pairs):,} histories"] if len(said) == 1 < len(pairs) else []
