"""Several right targets: grouped to measure on, a pair each to train on."""

import json
from pathlib import Path

import pytest
from text_columns import by_role, text_columns

from regard.data.load import load
from regard.data.references import each_pair, grouped
from regard.data.report import report
from regard.errors import RegardError
from regard.fields.label import Label
from regard.train.state import digest
from regard.types import Example, Link

PAIRS = [Example(("a",), "b", "f:1"), Example(("x",), "y", "f:2"), Example(("a",), "c", "f:3"), Example(("a",), "b")]


def test_lines_of_one_input_become_one_example() -> None:
    first, second = grouped(PAIRS)
    assert first == Example(("a",), "b", "f:1", alternatives=("c",))
    assert second == PAIRS[1]
    assert grouped([first, Example(("a",), "d")])[0].references == ("b", "c", "d")


def test_and_each_target_an_example_again() -> None:
    assert each_pair(grouped(PAIRS)) == [PAIRS[0], Example(("a",), "c", "f:1"), PAIRS[1]]
    linked = Example(("a",), "b", links=(Link(0, 1, 0, 1),), alternatives=("c",))
    assert [one.links for one in each_pair([linked])] == [linked.links, ()]


def test_the_digest_of_training_data_is_that_of_its_pairs() -> None:
    """So a run goes on, however the same pairs were written."""
    assert each_pair(PAIRS) == PAIRS
    assert digest(each_pair(grouped(PAIRS[:3]))) == digest([PAIRS[0], PAIRS[2], PAIRS[1]])


def files(folder: Path) -> None:
    row = {"source": "a", "target": ["b", "c"]}
    (folder / "train.jsonl").write_text(json.dumps(row) + "\n" + json.dumps({"source": "x", "target": "y"}))
    (folder / "valid.tsv").write_text("p\tq\np\tr\ns\tt\n")
    (folder / "test.jsonl").write_text(json.dumps(row))


def loaded(folder: Path, target=None, **more):
    fields = (text_columns()[0], target or text_columns()[1])
    return load(default="", fields=fields, known=(), train=str(folder), **more)


def test_train_has_every_pair_and_the_others_every_reference(tmp_path: Path) -> None:
    files(tmp_path)
    apart, together = loaded(tmp_path), loaded(tmp_path, group=True)
    for splits in (apart, together):
        assert [(e.source, e.target, e.references) for e in splits.train] == [
            ("a", "b", ("b",)), ("a", "c", ("c",)), ("x", "y", ("y",)),
        ]  # fmt: skip
        assert [e.references for e in splits.test] == [("b", "c")]
    assert [e.references for e in apart.valid] == [("q",), ("r",), ("t",)]
    assert [e.references for e in together.valid] == [("q", "r"), ("t",)]


def test_what_is_held_out_of_train_is_grouped_too(tmp_path: Path) -> None:
    path = tmp_path / "all.tsv"
    path.write_text("".join(f"{n}\t{n}{side}\n" for n in range(200) for side in "ab"))
    splits = load(default="", fields=text_columns(), known=(), train=str(path), group=True)
    assert all(len(e.references) == 2 for e in (*splits.valid, *splits.test))
    assert all(len(e.references) == 1 for e in splits.train)
    assert len(splits.train) + 2 * len(splits.valid) + 2 * len(splits.test) == 400


def test_a_label_has_no_second_one(tmp_path: Path) -> None:
    files(tmp_path)
    with pytest.raises(RegardError, match="several targets for one input; expected one label"):
        loaded(tmp_path, target=Label())


def test_the_report_counts_them(tmp_path: Path) -> None:
    files(tmp_path)
    found = report(loaded(tmp_path, group=True), by_role())
    assert found.parts["valid"].references == (3, 1, 2)
    assert "valid: 3 references for 2 examples, 1 to 2 each" in str(found)
    assert "train: " not in "".join(line for line in str(found).splitlines() if "references" in line)
    assert found.parts["test"].alphabet == 3
