"""What the built-in sets share: sizes that can be, and parts by a hash."""

import pytest

from regard.data.builtin._builtin import Builtin, Hashed
from regard.errors import RegardError
from regard.types import Example


class Counted(Hashed):
    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        return [Example((f"{split} {size} {first} {last}",), "")]


def test_parts_are_ranges_of_the_hash() -> None:
    splits = Counted(5, 0, 3, seed=1).splits()
    assert [one[0].source for one in (splits.train, splits.valid, splits.test)] == [
        "train 5 0.0 0.8", "valid 0 0.8 0.85", "test 3 0.85 1.0"
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [Builtin, Counted])
def test_sizes_below_nothing(kind: type[Builtin]) -> None:
    with pytest.raises(RegardError, match=r"^valid: got -1; expected a whole number from 0 to"):
        kind(1, -1, 1, seed=1)
