"""about.json: the data by name, how many examples, and a few inputs of the validation set, or none."""

import json
from pathlib import Path
from typing import Any

import pytest

from regard.api import train
from regard.data.splits import Splits
from regard.find import find
from regard.tasks.classify import Classify
from regard.tasks.language import Language
from regard.train.about import chosen, keep
from regard.train.run import Run
from regard.types import Example


def example(text: str, target: str = "") -> Example:
    return Example((text,), target)


def kept(folder: Path, data: str, count: int = 3) -> dict[str, Any]:
    run = Run(folder, {"data": {"train": data}}, {})
    path = keep(run, Classify(), Splits([example("t")] * 7, [example("a", "x"), example("b", "y")]), count)
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_by_hand(tmp_path: Path) -> None:
    assert kept(tmp_path, "/home/me/pairs.tsv") == {"data": "pairs.tsv", "examples": 7, "inputs": [["a"], ["b"]]}
    assert kept(tmp_path, "/home/me/photos/", 1) == {"data": "photos", "examples": 7, "inputs": [["a"]]}
    assert kept(tmp_path, "", 0) == {"data": "builtin:languages", "examples": 7, "inputs": []}
    assert kept(tmp_path, "x/a.de,x/a.en")["data"] == "a.de, a.en"
    assert kept(tmp_path, "hf:org/set")["data"] == "hf:org/set"


def test_different_targets_first_and_no_long_text() -> None:
    given = [example("x" * 201, "c"), example("1", "a"), example("2", "a"), example("3", "b"), example("4", "b")]
    assert [one.source for one in chosen(given, 3)] == ["1", "3", "2"]
    assert [one.source for one in chosen(given[:1], 3)] == ["x" * 201]  # better than none
    assert chosen([example("x" * 2_001)], 3) == []
    picture = example("data:image/png;base64," + "A" * 9_000)
    assert chosen([picture], 3) == [picture]


def test_a_language_model_is_given_something_to_go_on_from() -> None:
    assert Language().tried(example("the cat sat on the mat")) == ["the cat sat"]
    assert Language().tried(example("cat")) == ["cat"]


@pytest.mark.parametrize(
    "task", ["translate", "agree", "language", "summarise", "describe", "classify", "entail", "tag"]
)
def test_every_task_says_what_it_does(task: str) -> None:
    assert find("tasks", task).does.endswith(".")


def test_they_can_be_left_out_later(tmp_path: Path) -> None:
    (tmp_path / "some.tsv").write_text("".join(f"{word}\t{word[0]}\n" for word in ("ab", "ba", "aa", "bb") * 3))
    small = {"encoder": {"name": "bigru", "hidden": 2}, "input": {"name": "text", "embed": {"dim": 2}}}
    data = {"train": str(tmp_path / "some.tsv"), "valid": str(tmp_path / "some.tsv")}
    plan = {"steps": 1, "validate_every": 1, "device": "cpu"}
    for more, inputs in (({}, [["ab"], ["ba"], ["aa"]]), ({"keep_examples": 0}, [])):
        run = train("classify", data, tmp_path / "run", quiet=True, train={**plan, **more}, **small).model.run
        assert json.loads((run.folder / "about.json").read_text())["inputs"] == inputs
