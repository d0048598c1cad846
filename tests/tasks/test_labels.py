"""What tasks share whose answers are labels."""

import pytest

from regard.errors import RegardError
from regard.tasks.classify import Classify
from regard.tasks.tag import Tag
from regard.types import Example


def test_labels_are_numbered_by_name_and_kept() -> None:
    task = Classify()
    task.learn_targets([Example(("x",), "b"), Example(("y",), "a"), Example(("z",), "b")])
    assert task.labels == ["a", "b"]
    assert task.target(Example(("w",), "b")) == [1]
    again = Tag()
    again._name(task.labels)
    assert again.target(Example(("p q r",), "b a b")) == [1, 0, 1]


def test_one_label_is_too_few() -> None:
    with pytest.raises(RegardError, match=r"every label is 'a'"):
        Classify().learn_targets([Example(("x",), "a"), Example(("y",), "a")])


def test_an_unknown_label_is_told_with_its_line() -> None:
    task = Tag()
    task.learn_targets([Example(("x y",), "day month")])
    with pytest.raises(RegardError, match=r"d\.tsv:3.*'dai'.*day"):
        task.target(Example(("x y",), "day dai", where="d.tsv:3"))
