"""Labels: numbered by name, kept, and told with their place where they are wrong."""

import pytest

from regard.errors import RegardError
from regard.fields.label import Label


@pytest.fixture
def label() -> Label:
    field = Label()
    field.fit(["b", "a", "b"])
    return field


def test_labels_are_numbered_by_name_and_kept(label: Label) -> None:
    assert label.names == ["a", "b"]
    assert label.encode(["b", "a"], ["", ""]) == [[1], [0]]
    assert label.collate([[1], [0]]).tolist() == [1, 0]  # type: ignore[union-attr]
    again = Label()
    again.restore(label.state())
    assert (again.names, again.encode(["b"], [""])) == (["a", "b"], [[1]])


@pytest.mark.parametrize(
    ("values", "said"), [(["a", "a"], "every label is 'a'; expected at least two"), ([], "no labels")]
)
def test_one_label_is_too_few(values: list[str], said: str) -> None:
    with pytest.raises(RegardError, match=f"^{said}"):
        Label().fit(values)


def test_an_unknown_label_is_told_with_its_line() -> None:
    field = Label()
    field.fit(["day", "month"])
    with pytest.raises(RegardError, match=r"^d\.tsv:3: label 'dai'; expected a label from the training data; .*'day'"):
        field.encode(["day", "dai"], ["d.tsv:2", "d.tsv:3"])


def test_a_guess_that_never_looks_at_the_input(label: Label) -> None:
    """b is the most frequent: always saying it is right in 2 of 3."""
    train = ["a", "b", "b"]
    assert label.doubts(train, [("a", "a"), ("b", "b"), ("b", "b")]) == []
    assert label.doubts(train, [("a", "b"), ("b", "b")]) == ["the same prediction for all 2 inputs"]
    [said] = label.doubts(train, [("a", "a"), ("b", "a"), ("b", "b")])
    assert said == "accuracy 66.7%; always predicting the most frequent label gives 66.7%"
