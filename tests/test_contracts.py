"""Contracts: regard's own parts keep them, a person's part that does not is named with what is missing."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.contracts import BASES, base_of, check_class, check_part, methods, values
from regard.errors import RegardError
from regard.find import build, find, names

page = (Path(__file__).resolve().parent.parent / "docs" / "extending.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _wrong_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "my_wrong.py").write_text(wrong)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("my_wrong", None)


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(RegardError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_every_part_of_regard_keeps_its_contract() -> None:
    for folder in BASES:
        for name in names(folder):
            check_class(folder, find(folder, name))


def test_the_page_has_every_contract() -> None:
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and " | " in line]
    for folder, place in BASES.items():
        base = base_of(folder)
        assert base is not None
        [row] = [row for row in rows if f"`regard.{place}`" in row[2] or (row[0] == "| metric" and folder == "measure")]
        assert set(methods(base)) <= set(re.findall(r"`(\w+)`", row[4])), folder
        assert set(values(base)) == set(re.findall(r"`(\w+)`", row[5])), folder
        if methods(base):
            assert set(re.findall(r"`(\w+)`", row[4])) == set(methods(base)), folder


wrong = """
from torch import nn
from regard.attend.score import Score
from regard.encode import Encoder
from regard.fields import Input
from regard.search import Search

class NoForward(Encoder):
    def __init__(self, inputs):
        super().__init__()
        self.size = self.summary = inputs

class NoSummary(Encoder):
    def __init__(self, inputs):
        super().__init__()
        self.size = inputs
    def forward(self, inputs): ...

class Module(nn.Module): ...
class NoFind(Search): ...
class NoHidden(Score):
    def __init__(self, query, key):
        super().__init__()
class NoCall:
    better = "higher"
class NoBetter:
    def __call__(self, results): ...
class NoEncode(Input):
    kind = "mine"
"""


@pytest.mark.parametrize(
    ("folder", "name", "said"),
    [
        ("encode", "NoForward", "has no method forward; expected what every Encoder has; see docs/extending.md"),
        ("encode", "Module", "is not an Encoder; expected a subclass of regard.encode.Encoder; see docs/extending.md"),
        ("attend.score", "Module", "is not a Score; expected a subclass of regard.attend.score.Score; see docs/"),
        ("search", "NoFind", "has no method find; expected what every Search has; see docs/extending.md"),
        ("text", "NoEncode", "has no method train; expected what every TextKind has; see docs/extending.md"),
        ("predict.reward", "NoEncode", "has no method __call__; expected what every Reward has; see docs/extending.md"),
        ("measure", "NoCall", "has no method __call__; expected what every Measure has; see docs/extending.md"),
        ("measure", "NoBetter", "has no attribute better; expected what every Measure has; see docs/extending.md"),
        ("fields", "NoEncode", "has no method collate and no method encode; expected what every Field has"),
        ("tasks", "NoFind", "is not a Task; expected a subclass of regard.train.task.Task; see docs/extending.md"),
    ],
)
def test_a_missing_method_is_named_before_anything_is_built(folder: str, name: str, said: str) -> None:
    assert refused(lambda: find(folder, f"my_wrong.{name}")).startswith(f"my_wrong.{name} {said}")


def test_a_missing_attribute_is_named_when_the_part_is_built() -> None:
    assert refused(lambda: build("encode", "my_wrong.NoSummary", inputs=3)) == (
        "my_wrong.NoSummary does not set self.summary; expected what every Encoder sets; see docs/extending.md"
    )
    assert "does not set self.hidden" in refused(lambda: build("attend.score", "my_wrong.NoHidden", query=3, key=3))
    check_part("encode", build("encode", "bilstm", inputs=3))
