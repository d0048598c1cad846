"""What training would refuse, all at once; and nothing is said of good data."""

from pathlib import Path

import pytest

from regard.data.load import load
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.find import find
from regard.train.refusals import refusals
from regard.train.task import Task
from regard.types import Example


def trained(task: Task, splits: Splits) -> None:
    """What training does before it begins."""
    task.learn(splits.train)
    task.items([*splits.valid, *splits.test])
    splits.validates("a.tsv")


def refused(task: str, text: str, folder: Path) -> list[str]:
    path = folder / "a.tsv"
    path.write_text(text)
    made = find("tasks", task)()
    splits = load(str(path), tuple(made.fields.values()), made.known)
    found = refusals(made, splits, "a.tsv")
    twin = find("tasks", task)()
    if found:  # so does training, with the first of them
        with pytest.raises(RegardError) as caught:
            trained(twin, splits)
        assert any(one.what in str(caught.value) or str(caught.value) in one.examples for one in found)
    return [one.what for one in found]


def test_good_data_is_not_refused(tmp_path: Path) -> None:
    assert refused("translate", "".join(f"{n}\t{n}\n" for n in range(9)), tmp_path) == []


def test_too_little_to_learn_from(tmp_path: Path) -> None:
    one_class = refused("classify", "".join(f"text {n}\tsame\n" for n in range(9)), tmp_path)
    assert "every label is 'same'" in one_class[0]
    assert "cannot hold out a validation set from 1 example;" in refused("translate", "a\tb\n", tmp_path)[0]
    each = refused("classify", "".join(f"text {n}\tlabel {n}\n" for n in range(6)), tmp_path)
    assert "from 6 examples: a label that only one of them has stays in train" in each[0]
    assert "from 2 examples, all with the same input" in refused("translate", "a\tb\na\tc\n", tmp_path)[0]


def test_examples_that_the_model_cannot_take(tmp_path: Path) -> None:
    assert refused("relate", "".join(f"a {n}\tb {n}\t{n / 4}\n" for n in range(4, 99)), tmp_path) == [
        "68 examples that the model cannot take"
    ]
    tags = "".join(f"a b {n}\tO B O\n" for n in range(40)) + "c d\tO\ne f\tO\n"
    assert refused("tag", tags, tmp_path) == ["2 examples that the model cannot take"]


def test_labels_that_train_never_has() -> None:
    task = find("tasks", "classify")()
    train = [Example((f"text {n}",), "ab"[n % 2], f"a.tsv:{n}") for n in range(9)]
    [found] = refusals(task, Splits(train, [Example(("text",), "c", "v.tsv:1")]), "a.tsv")
    assert (found.split, found.examples[0].split(";")[0]) == ("valid", "v.tsv:1: label 'c'")
