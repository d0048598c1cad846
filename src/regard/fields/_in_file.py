"""What pictures and recordings share: a value is the path of a file or a data URL, decoded when a batch needs it."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from regard.errors import RegardError, brief
from regard.fields import Input, Where
from regard.regions import Region

__all__ = ["InFile", "is_url", "readable", "url_bytes"]

T = TypeVar("T")


def is_url(value: str) -> bool:
    """Whether a value is a data URL rather than a path."""
    return value.startswith("data:")


def url_bytes(most: int) -> int:
    """The length of a data URL of so many bytes."""
    return most * 4 // 3 + 1_000


class InFile(Input):
    """A value in a file of its own; `thing` is its name in messages and `media` the type of its data URLs."""

    per_file: ClassVar[bool] = True
    slow: ClassVar[bool] = True
    thing: ClassVar[str]  # "picture"
    media: ClassVar[str]  # "image", as in data:image/png
    suffixes: ClassVar[tuple[str, ...]]  # of its files; the first stands in examples
    objects: ClassVar[str]  # which Python objects are values, for messages
    most_bytes: ClassVar[int]  # of one in a request
    shorten: ClassVar[str]  # what to do where it has more

    @abstractmethod
    def verify(self, value: str, where: str) -> None:
        """Raise RegardError for a value that cannot be read; nothing large is decoded."""

    def url_of(self, value: Any) -> str | None:
        """The data URL of a Python object; None where it is no value of this kind."""
        return None

    def given(self, value: Any, what: str) -> str:
        if isinstance(value, os.PathLike):
            return str(os.fspath(value))
        if (url := self.url_of(value)) is None:
            expected = f"the path of {self.noun}, or {self.objects}"
            raise RegardError(f"{what} is {brief(value, 40)}", expected=expected)
        return url

    def found(self, values: Sequence[str], where: Where) -> None:
        """Raise RegardError where a file is not there."""
        for value, at in zip(values, where, strict=True):
            if not is_url(value) and not os.path.isfile(value):
                expected = f"a file ({', '.join(self.suffixes)})"
                raise RegardError(f"{at}: no {self.thing} {value[:200]!r}", expected=expected)

    def title(self, value: str) -> str:
        return self.thing if is_url(value) else Path(value).name

    def remaining(self, regions: tuple[Region, ...], positions: Sequence[int]) -> tuple[Region, ...]:
        """All of them: what is dropped is blanked, and its place stays."""
        return regions

    def droppable(self, positions: Sequence[int], count: int, name: str) -> None:
        if wrong := [place for place in positions if not 0 <= place < count]:
            raise RegardError(f"no {name} {wrong[0]} to drop", expected=f"0 to {count - 1}")

    def located(self, value: str, folder: Path) -> str:
        return value if is_url(value) else str(folder / os.path.expanduser(value))

    def requested(self, value: str, where: str, characters: int) -> None:
        """Only what the request itself holds: a path would be one of the server's own files."""
        if not value.startswith(f"data:{self.media}/"):
            example = f"data:{self.media}/{self.suffixes[0].removeprefix('.')};base64,…"
            raise RegardError(f"{where}: not {self.noun}", expected=f"a data URL, as {example}")
        if len(value) > self.request_bytes:
            raise RegardError(f"{where}: {self.noun} of more than {self.most_bytes:,} bytes", do=self.shorten)
        self.verify(value, where)


def readable(values: Sequence[str], read: Callable[[str], T]) -> Iterator[T]:
    """What is read of each. One that cannot be read is told with its place when its batch comes, unless all are so."""
    error, some = None, False
    for value in values:
        try:
            one = read(value)
        except RegardError as problem:
            error = error or problem
        else:
            some = True
            yield one
    if error is not None and not some:
        raise error
