"""A stand-in for the package `datasets`: nothing is fetched."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from regard.data.hf import read_hf
from regard.errors import RegardError
from regard.types import Example


class Rows:
    def __init__(self, rows: list[dict[str, Any]], classes: dict[str, list[str]]) -> None:
        self.rows = rows
        self.column_names = list(rows[0]) if rows else []
        self.features = {
            name: SimpleNamespace(names=classes[name]) if name in classes else SimpleNamespace()
            for name in self.column_names
        }

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: int | str) -> Any:
        return self.rows[key] if isinstance(key, int) else [row[key] for row in self.rows]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], dict[str, Rows]]:
    """What the pretended hub holds: (name, configuration) → splits."""
    held: dict[tuple[str, ...], dict[str, Rows]] = {}

    def load_dataset(*name: str) -> dict[str, Rows]:
        if name not in held:
            raise FileNotFoundError(f"Dataset {name[0]!r} doesn't exist on the Hub\nand more")
        return held[name]

    module = ModuleType("datasets")
    module.load_dataset = load_dataset  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", module)
    return held


def test_splits_and_nested_fields(hub: dict[tuple[str, ...], dict[str, Rows]]) -> None:
    pairs = Rows([{"translation": {"de": "Hund", "en": "dog"}}], {})
    hub["wmt16", "de-en"] = {"train": pairs, "validation": pairs, "test": pairs}
    fields = ("translation.de", "translation.en")
    splits = read_hf("hf:wmt16/de-en", fields)
    assert splits.train == [Example(("Hund",), "dog", "hf:wmt16/de-en:train:1")]
    assert splits.valid == [Example(("Hund",), "dog", "hf:wmt16/de-en:validation:1")]
    hub["owner/set",] = {"train": pairs}
    assert read_hf("hf:owner/set", fields).test == []
    hub["owner/set", "small"] = {"train": pairs, "test": pairs}
    assert len(read_hf("hf:owner/set/small", fields).test) == 1
    with pytest.raises(RegardError, match=r"no field 'source'; fields: translation\.de, translation\.en"):
        read_hf("hf:owner/set")
    with pytest.raises(RegardError, match=r"did you mean 'translation\.en'"):
        read_hf("hf:owner/set", ("translation.de", "translation.eng"))


def test_classes_and_numbers(hub: dict[tuple[str, ...], dict[str, Rows]]) -> None:
    rows = [{"text": "good", "label": 1, "score": 4.5}, {"text": "?", "label": -1, "score": 1}]
    hub["sst2",] = {"train": Rows(rows, {"label": ["negative", "positive"]})}
    assert read_hf("hf:sst2", ("text", "label")).train == [Example(("good",), "positive", "hf:sst2:train:1")]
    assert [e.target for e in read_hf("hf:sst2", ("text", "score")).train] == ["4.5", "1"]
    hub["odd",] = {"train": Rows([{"source": "a", "target": ["b"]}], {})}
    with pytest.raises(RegardError, match="'target' is a list; expected text or a number"):
        read_hf("hf:odd")


def test_what_cannot_be_had(hub: dict[tuple[str, ...], dict[str, Rows]], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RegardError, match=r"could not be loaded \(Dataset 'a/b' doesn't exist on the Hub\)"):
        read_hf("hf:a/b")
    hub["a",] = {"unsupervised": Rows([], {})}
    with pytest.raises(RegardError, match=r"no split 'train'.*the data set has unsupervised"):
        read_hf("hf:a")
    for name in ("hf:", "hf:a//b", "hf:a/b/c/d"):
        with pytest.raises(RegardError, match="expected hf:name"):
            read_hf(name)
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(RegardError) as caught:
        read_hf("hf:a")
    assert str(caught.value) == "hf:a needs the datasets package; pip install 'regard[hf]'"
