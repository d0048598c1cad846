"""Fields: kinds of values, such as text, pictures and labels. All that regard knows about a kind is in its module.

A task names its roles and the field of each, for example `{"premise": text, "hypothesis": text}` and the target
`label`. Reading, splitting, the data report, batching, embedding, prediction from files, the service and the page ask
the field and nothing else. Values are strings everywhere: a text, or the path of a picture, which is decoded when a
batch needs it.

    value → `encode` → row → `collate` → tensors → `embedding()` → vectors, one for each of `regions(value)`

- `Field`: what every field can do, and all that a target needs.
- `Input`: a field that a network can read.
- `Labels`: a field whose values are labels, one or several.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from regard.errors import RegardError, brief
from regard.fields.embed import Embedding
from regard.find import Spec, build, find
from regard.regions import Region
from regard.types import Rows

__all__ = ["Field", "Input", "Profile", "Where", "input_field", "inputs_of", "require"]

F = TypeVar("F", bound="Field")

Where = Sequence[str]
"""Where each value was read, for messages: "train.tsv:12"."""


@dataclass(frozen=True)
class Profile:
    """How much there is to read, for choosing sizes: over all values of a role."""

    length: float  # positions of a value, on average
    distinct: int = 0  # different words or ids
    letters: int = 0  # different characters
    longest: int = 0  # characters of the longest value
    encoder: str = ""  # the encoder that suits it, where that is not the task's usual one


class Field(ABC):
    """One kind of value. `notes` tells the user what was learned from the data, in a line each."""

    kind: ClassVar[str]
    headers: ClassVar[tuple[str, ...]] = ()  # usual names of its column, the more telling first; "_" for spaces
    spaced: ClassVar[bool] = False  # a value is a list, written with spaces between
    textual: ClassVar[bool] = False  # people wrote it: its characters can be wrong
    optional: ClassVar[bool] = False  # whether an empty value of a target means something
    about_document: ClassVar[bool] = False  # it answers a question about a document: the inputs are both
    names: Sequence[str] = ()  # what can be answered, where that is a list: labels, or the steps of a scale
    notes: Sequence[str] = ()

    def fit(self, values: Sequence[str]) -> None:  # noqa: B027
        """Learn a vocabulary, labels or statistics from the training values."""

    def state(self) -> dict[str, Any]:
        """What was learned, as JSON; `restore` takes it back."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None: ...  # noqa: B027

    @abstractmethod
    def encode(self, values: Sequence[str], where: Where, role: str = "value") -> list[Any]:
        """Each value as `collate` takes it. A wrong value raises RegardError with the place where it was read."""

    def length(self, row: Any) -> int:
        """Positions of an encoded value, known without decoding: rows of like length share a batch."""
        return len(row)

    @abstractmethod
    def collate(self, rows: Sequence[Any]) -> Rows | Tensor:
        """Encoded values side by side."""

    def tidied(self, value: str) -> str:
        """A value as it is meant, where people write it in several ways."""
        return value

    def takes(self, value: str) -> bool:
        """Whether a value can be one of this kind at all, whatever was learned."""
        return True

    def labels(self, value: str) -> Iterable[str] | None:
        """The labels in a value; None where values are not labels."""
        return None

    def number(self, value: str) -> float | None:
        """The number that a value is; None where values are not numbers."""
        return None

    def words(self, value: str) -> list[str] | None:
        """The words of a value, as people count them; None where values are not written text."""
        return None

    def profile(self, values: Sequence[str]) -> Profile:
        return Profile(1.0)

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        """How large each value is, by unit, for the data report."""
        return {}

    def doubts(self, train: Sequence[str], pairs: Sequence[tuple[str, str]]) -> list[str] | None:
        """Where predictions are no better than a guess that never looks at the input: one line each.

        `train` are the targets of the training data, `pairs` the true target and the prediction of each example. None
        where no such guess exists for this kind of value.
        """
        return None


class Input(Field):
    """A field that a network can read."""

    per_file: ClassVar[bool] = False  # a file holds one value (a picture); otherwise a line does
    noun: ClassVar[str] = ""  # what a value is called in a sentence; "" for "a" and its kind
    slow: ClassVar[bool] = False  # decoding is worth processes of its own
    spoken: ClassVar[bool] = False  # a text about it is what is said in it, and may be in a file beside it
    per_user: ClassVar[bool] = False  # a value is made of many lines of a file, all those of a user
    imported: bool = False  # what it knows came with a pre-trained model, and not from the training data
    request_bytes: ClassVar[int] = 0  # of a request, beyond what text needs

    @abstractmethod
    def embedding(self) -> Embedding:
        """A new module that turns a collated batch into vectors."""

    @abstractmethod
    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        """What each position of each value stands for."""

    def source(self, value: str) -> str:
        """The value itself, where regions are drawn over it: a picture as a data URL."""
        return ""

    def title(self, value: str) -> str:
        """How a value is named above an attention map."""
        return value

    @abstractmethod
    def drop(self, row: Any, positions: Sequence[int]) -> Any:
        """The row without these positions, as if they had never been there."""

    def remaining(self, regions: tuple[Region, ...], positions: Sequence[int]) -> tuple[Region, ...]:
        """The regions of a row that `drop` has been called on."""
        if not positions:
            return regions
        out = set(positions)
        return tuple(one for place, one in enumerate(regions) if place not in out)

    def given(self, value: Any, what: str) -> str:
        """A value that Python code gives in a form of its own, as a string; `what` names it in messages."""
        if isinstance(value, os.PathLike):
            return str(os.fspath(value))
        raise RegardError(f"{what} is {brief(value, 40)}", expected=f"the path of {self.noun or f'a {self.kind}'}")

    def located(self, value: str, folder: Path) -> str:
        """A value as it was written in a data file of that folder."""
        return value

    def requested(self, value: str, where: str, characters: int) -> None:
        """Raise RegardError for a value that a request may not hold; `characters` is the longest text allowed."""
        if not value.strip():
            raise RegardError(f"{where}: empty {self.kind}", expected="at least one character")
        if len(value) > characters:
            raise RegardError(
                f"{where}: {len(value):,} characters", expected=f"at most {characters:,}", do="shorten it"
            )


def input_field(spec: Spec, end: bool) -> Input:
    """The field that a task reads. With `end`, a special token follows the last of a text."""
    name = spec if isinstance(spec, str) else str(spec.get("name", "text"))
    if not issubclass(find("fields", name), Input):
        raise RegardError(
            f"field={name} cannot be an input", expected="a field for inputs, such as text, image or items"
        )
    field: Input = build("fields", spec, end=end)
    return field


def require(field: Field, of: type[F], role: str, why: str = "") -> F:
    """The field of a role, where the task can do with one kind alone; RegardError for any other."""
    if not isinstance(field, of):
        raise RegardError(f"{role}={field.kind}", expected=of.kind + (f", {why}" if why else ""))
    return field


def inputs_of(fields: Sequence[Field]) -> list[Input]:
    """Those of the columns that a network reads."""
    return [field for field in fields if isinstance(field, Input)]


def drop_positions(row: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """A sequence without some of its positions; something must be left of it."""
    out = set(positions)
    if wrong := sorted(place for place in out if not 0 <= place < len(row)):
        raise RegardError(f"no token {wrong[0]} to drop", expected=f"0 to {len(row) - 1}")
    kept = [one for place, one in enumerate(row) if place not in out]
    if row and not kept:
        raise RegardError("no token would be left", expected="at least one that is not dropped")
    return kept
