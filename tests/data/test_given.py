"""Rows given in Python become examples: of any container, with names where they have some, and no silent guess."""

import copy
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from regard.data.given import Given, given_examples, options_of, rows_of
from regard.data.load import load
from regard.data.readlog import ReadLog
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields import Field
from regard.fields.image import Image, decode
from regard.fields.items import Items
from regard.fields.label import Label
from regard.fields.tags import Tags
from regard.fields.text import Text
from regard.types import Example

LABELLED = (Text(end=False), Label())
films = [(f"{word} film {number}", label) for label in ("good", "bad") for word in ("a", "the") for number in range(9)]
dicts = [{"id": number, "text": text, "label": label} for number, (text, label) in enumerate(films)]


class Frame:
    """What is used of a pandas data frame."""

    columns = ("id", "text", "label")

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        assert orient == "records"
        return dicts


class Polars:
    columns = ("id", "text", "label")

    def to_dict(self) -> None:
        raise AssertionError("columns, not rows")

    def to_dicts(self) -> list[dict[str, Any]]:
        return dicts


class Arrow:
    column_names = ("id", "text", "label")

    def to_pylist(self) -> list[dict[str, Any]]:
        return dicts


class Classes:
    def __init__(self, names: list[str]) -> None:
        self.names = names


class Many:
    def __init__(self, feature: Any) -> None:
        self.feature = feature


class Dataset:
    """What is used of a Dataset of Hugging Face, whose class labels are numbers."""

    def __init__(self, rows: list[dict[str, Any]], features: Mapping[str, Any]) -> None:
        self.rows, self.features, self.column_names = rows, features, list(features)

    def __iter__(self) -> Any:
        return iter(self.rows)


class DatasetDict(dict[str, Dataset]): ...


def numbered(count: int = 30, label: int | None = None) -> Dataset:
    rows = [{"text": f"text {n}", "label": n % 2 if label is None else label} for n in range(count)]
    return Dataset(rows, {"text": None, "label": Classes(["neg", "pos"])})


def read(data: Any, fields: tuple[Field, ...] = LABELLED, known: tuple[tuple[str, ...], ...] = ()) -> Splits:
    return load("builtin:none", fields, known, **options_of(data))


def all_of(splits: Splits) -> set[tuple[tuple[str, ...], str]]:
    return {(one.inputs, one.target) for one in [*splits.train, *splits.valid, *splits.test]}


def refused(act: Callable[[], Any]) -> str:
    with pytest.raises(RegardError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        films,
        tuple(map(list, films)),
        (row for row in films),
        dicts,
        [Example((text,), label) for text, label in films],
        Frame(),
        Polars(),
        Arrow(),
        Dataset(dicts, {"id": None, "text": None, "label": None}),
        {"text": [text for text, _ in films], "label": np.array([label for _, label in films])},
        {"train": films},
        {"train": Frame(), "source": "text", "target": "label"},
    ],
    ids=lambda data: type(data).__name__,
)
def test_every_container_gives_the_same_examples(data: Any) -> None:
    splits = read(data)
    assert all_of(splits) == {((text,), label) for text, label in films}
    assert splits.valid
    assert splits.test
    first = splits.train[0].where.removeprefix("row ")
    assert films[int(first) - 1] == (splits.train[0].source, splits.train[0].target)


def test_class_numbers_have_names_and_rows_without_a_label_are_left_out() -> None:
    rows = numbered()
    rows.rows[3]["label"] = -1
    rows.rows[5]["label"] = None
    found = read(rows)
    assert all_of(found) == {((f"text {n}",), ("neg", "pos")[n % 2]) for n in range(30) if n not in (3, 5)}
    assert found.notes == ["skipped 2 of 30 rows: they have no label"]


@pytest.mark.parametrize("wrap", [lambda parts: parts, lambda parts: {"train": parts, "source": "text"}])
def test_a_dataset_dict_has_its_own_splits(wrap: Callable[[Any], Any]) -> None:
    parts = DatasetDict(train=numbered(), validation=numbered(4), test=numbered(6), unsupervised=numbered(2))
    data = wrap(parts)
    if data is not parts:
        data["target"] = "label"
    found = read(data)
    assert [len(part) for part in (found.train, found.valid, found.test)] == [30, 4, 6]
    assert (found.valid[1].where, found.test[0].where, found.train[9].where) == ("valid row 2", "test row 1", "row 10")
    assert "no split 'train'; the data set has dev" in refused(lambda: read(DatasetDict(dev=numbered())))


def test_rows_and_files_together(tmp_path: Path) -> None:
    path = tmp_path / "valid.tsv"
    path.write_text("a film\tgood\n")
    found = read({"train": films, "valid": path, "test": films[:2]})
    assert [len(part) for part in (found.train, found.valid, found.test)] == [len(films), 1, 2]
    assert found.valid[0].where == f"{path}:1"


def test_several_targets_are_references() -> None:
    fields = (Text(end=True), Text(end=True))
    rows = [{"source": f"text {n}", "target": [f"one {n}", f"two {n}", f"one {n}"]} for n in range(30)]
    found = read({"train": rows, "valid": rows[:1]}, fields)
    assert found.valid == [Example(("text 0",), "one 0", "valid row 1", alternatives=("two 0",))]
    assert len(found.train) == 60


def test_numbers_are_labels_and_tokens_are_joined() -> None:
    found = read([("a", 1), ("b", True), ("c", np.int64(0)), ("d", 2.5), ("e", np.float32(0.5))])
    assert all_of(found) == {(("a",), "1"), (("b",), "true"), (("c",), "0"), (("d",), "2.5"), (("e",), "0.5")}
    ner = [{"tokens": ["a", "dog"], "tags": [0, 1]}, {"tokens": ["the", "cat"], "tags": [1, 1]}]
    tagged = Dataset(ner, {"tokens": None, "tags": Many(Classes(["O", "B"]))})
    assert all_of(read(tagged, (Text(end=False), Tags()))) == {(("a dog",), "O B"), (("the cat",), "B B")}
    assert all_of(read([([7, 8], "x"), ([9], "y")], (Items(), Label()))) == {(("7 8",), "x"), (("9",), "y")}
    assert "row 1: value 1 has 'a b' in it" in refused(lambda: read([(["a b"], ["X"])], (Text(end=False), Tags())))


def test_texts_alone() -> None:
    alone = (Text(end=False),)
    for data in (["one", "two", "three"], [{"text": "one"}, {"text": "two"}, {"text": "three"}]):
        assert all_of(read(data, alone)) == {(("one",), ""), (("two",), ""), (("three",), "")}


def test_pictures(tmp_path: Path) -> None:
    picture = Pillow.fromarray(np.arange(81, dtype=np.uint8).reshape(9, 9))
    picture.save(tmp_path / "one.png")
    path = str(tmp_path / "one.png")
    found = read(
        [(picture, "a"), (picture.convert("CMYK"), "b"), (path, "b"), (tmp_path / "one.png", "a")],
        (Image(size=8), Label()),
    )
    values = {one.where: one.source for one in [*found.train, *found.valid, *found.test]}
    assert values["row 3"] == values["row 4"] == path
    assert np.array_equal(np.asarray(decode(values["row 1"], "").convert("L")), np.asarray(picture))
    assert decode(values["row 2"], "").size == (9, 9)
    said = refused(lambda: read([(np.zeros((3, 3)), "a")] * 3, (Image(size=8), Label())))
    assert said.startswith("row 1: value 1 is array(")
    assert said.endswith("expected the path of a picture, or a PIL image")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (42, "data: got 42; expected a file name, rows such as (text, label), a data frame or a Dataset"),
        (None, "data: got None; expected a file name"),
        (b"x", "data: got b'x'; expected a file name"),
        (np.zeros((3, 2)), "data: got an array; expected a file name"),
        (Example(("a",), "b"), "data: got Example("),
        ([], "data: no rows; expected one per example"),
        ({"train": 3}, "data: got 3; expected a file name"),
        ({"train": films, "valid": []}, "data.valid: no rows"),
        ([1, 2], "row 1: 1 value; expected 2 (input, target)"),
        (["a"], "row 1: 1 value; expected 2 (input, target)"),
        ([("a", "b"), ("a", "b", "c")], "row 2: 3 values; expected 2 (input, target)"),
        ([("a", "b"), ("a", None)], "row 2: value 2 is null; expected a string or a number"),
        ([("a", float("nan"))], "row 1: value 2 is nan; expected a string or a number"),
        ([("a", b"b")], "row 1: value 2 is b'b'; expected a string or a number"),
        ([{"text": "a", "label": None}], "row 1: 'label' is null; expected a string or a number"),
        ([{"text": "a", "label": "b"}, {"text": "a"}], "row 2: no field 'label'"),
        ([Example(("a", "b"), "c")], "row 1: 2 inputs; expected 1"),
        ({"text": ["a"], "label": ["b", "c"]}, "data: columns of different lengths (text has 1, label has 2)"),
        ([{"text": "a", "label": ["b", "c"]}] * 3, "several targets for one input; expected one label"),
        (
            [{"Review": "a", "Mood": "b"}],
            "row 1 has the keys Review, Mood; expected text and label or source and target or input and target or "
            "image and label or tokens and tags; "
            'name them, for example data={"train": rows, "source": "Review", "target": "Mood"}',
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_its_place(data: Any, said: str) -> None:
    assert refused(lambda: read(data, known=(("text", "label"),))).startswith(said)


def test_rows_are_named_by_what_is_in_them() -> None:
    name = options_of(films)["train"]
    assert isinstance(name, Given)
    assert name.startswith("python:36 rows (")
    assert name == options_of(tuple(films))["train"]
    assert name != options_of(films[1:])["train"]
    assert name != options_of([("x", "good"), *films[1:]])["train"]
    pictures = [[(Pillow.new("L", (2, 2), colour), "a")] for colour in (0, 1)]
    assert options_of(pictures[0])["train"] != options_of(pictures[1])["train"]
    for same in (copy.deepcopy(name), pickle.loads(pickle.dumps(name))):  # sent to another process
        assert same == name
        assert same.rows == films


def test_names_of_rows_alone_lead_nowhere() -> None:
    said = refused(lambda: read({"train": "python:36 rows (0123456789abcdef)"}))
    assert said.startswith("the data was given in Python (36 rows) and is not saved with the run; give it again: ")


def test_names_that_a_file_would_be_known_by() -> None:
    rows = [{"id": 1, "Review": "a fine film", "Sentiment": "good"}, {"id": 2, "Review": "dull", "Sentiment": "bad"}]
    found = given_examples(rows_of(rows), (Text(end=False), Label()))
    assert [(one.inputs, one.target) for one in found] == [(("a fine film",), "good"), (("dull",), "bad")]


def test_columns_without_names() -> None:
    class Frame:
        """As pandas names columns that have no names: by numbers."""

        columns = (0, 1)

        def to_dict(self, _: str) -> list[dict[int, str]]:
            return [{0: "a fine film", 1: "good"}, {0: "dull", 1: "bad"}]

    found = given_examples(rows_of(Frame()), (Text(end=False), Label()))
    assert [(one.inputs, one.target) for one in found] == [(("a fine film",), "good"), (("dull",), "bad")]


def test_rows_that_cannot_be_used_are_skipped_where_that_is_asked() -> None:
    rows = rows_of([("a fine film", "good"), ("no label", None), ("dull", "bad")])
    with pytest.raises(RegardError, match="row 2: value 2 is null"):
        given_examples(rows, (Text(end=False), Label()))
    log = ReadLog(skip=True)
    assert len(given_examples(rows, (Text(end=False), Label()), log=log)) == 2
    assert log.notes() == [
        "data: skipped 1 line with a key that is missing or unusable "
        "(data:2: value 2 is null; expected a string or a number)"
    ]
