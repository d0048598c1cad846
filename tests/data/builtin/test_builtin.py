"""What the built-in sets share: sizes that can be, and parts by a hash."""

import hashlib

import pytest

from regard.data.builtin._builtin import Builtin, Hashed
from regard.errors import RegardError
from regard.find import build, find, names
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


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("fields", "d6765e91a62be527"),
        ("grammar", "e8d0b178f7e5741c"),
        ("headlines", "c7835d7b0ecb5228"),
        ("histories", "3db7833798dbaffc"),
        ("languages", "e5ed4d705e52998d"),
        ("likeness", "94ef9a5ab65c33d5"),
        ("stories", "e709584984cec452"),
        ("tables", "5d2e73a4108ae965"),
        ("visits", "e6edd79b8cd67a41"),
    ],
)
def test_the_same_sentences_as_ever(name: str, digest: str) -> None:
    """Figures in the docs were measured on them. Who changes a set measures again."""
    made = build("data.builtin", {"name": name, "train": 60, "valid": 5, "test": 5}).splits()
    rows = [(one.inputs, one.target, one.alternatives) for part in (made.train, made.valid, made.test) for one in part]
    assert hashlib.sha256(repr(rows).encode()).hexdigest()[:16] == digest


def test_presets_learn_at_a_rate_that_adam_bears() -> None:
    presets = [preset for name in names("data.builtin") if (preset := find("data.builtin", name).preset)]
    assert presets
    assert all(1e-4 <= preset["train"]["lr"] <= 2e-2 for preset in presets)
