"""A data set in numbers, as shown and as saved."""

import json

from text_columns import by_role

from regard.data.problems import are_labels
from regard.data.report import report
from regard.data.splits import Splits
from regard.fields.tags import Tags
from regard.types import Example


def rows(name: str, *pairs: tuple[str, str]) -> list[Example]:
    return [Example((source,), target, f"{name}.tsv:{line}") for line, (source, target) in enumerate(pairs, 1)]


clean = [(f"ein Satz mit der Nummer {i}", f"a sentence with number {i}") for i in range(12)]


def test_by_hand() -> None:
    part = report(Splits(rows("a", ("a b", "x"), ("abc", "yy zz"), ("a b", "xy"))), by_role()).parts["train"]
    assert (part.rows, part.distinct, part.alphabet) == (3, 2, 7)
    assert part.sizes == {
        "source": {"characters": (3, 3, 3, 3, 3), "words": (1, 1, 2, 2, 2)},
        "target": {"characters": (1, 1, 2, 2, 5), "words": (1, 1, 1, 1, 2)},
    }


def test_labels() -> None:
    pairs = [(f"text number {i}", "yes" if i % 3 else "no") for i in range(30)]
    assert are_labels(rows("t", *pairs))
    assert not are_labels(rows("t", *clean))
    said = report(Splits(rows("train", *pairs), rows("valid", ("text", "maybe"))), by_role())
    assert said.parts["train"].labels == {"yes": 20, "no": 10}
    assert "train: 2 labels: yes 20, no 10" in str(said)
    assert [(p.kind, p.examples) for p in said.problems if p.kind == "label"] == [
        ("label", ("'maybe' at valid.tsv:1",))
    ]


def test_shown_and_saved() -> None:
    two = [Example(("premise here", "hypothesis"), f"label {i}") for i in range(3)]
    said = report(Splits(two, two[:1]), by_role(3))
    again = json.loads(json.dumps(said.to_dict()))
    assert again["parts"]["train"]["rows"] == 3
    assert again["problems"][0]["kind"] == "header"
    table = str(said).split("\n\n")[0].splitlines()
    assert [line[:5].strip() for line in table[:8]] == ["", "train", "", "", "", "", "", "valid"]
    assert "hypothesis" in table[3]
    assert len({len(line) for line in table[:7]}) == 1  # aligned
    assert "'premise here'" in str(said)  # no place: the text itself
    assert str(report(Splits([], [], []), by_role())).endswith("no problems found")


def test_labels_of_tokens_are_counted_one_by_one() -> None:
    splits = Splits(rows("t", *[(f"a b {n}", "O B O") for n in range(3)]))
    assert "train: 2 labels: O 6, B 3" in str(report(splits, {**by_role(), "target": Tags()}))
    assert "label" not in str(report(splits, by_role()))


def test_text_alone_has_no_target() -> None:
    said = report(Splits(rows("t", *((f"text number {i}", "") for i in range(30)))), by_role(1))
    assert said.parts["train"].labels is None
    assert "source" in str(said)
    assert "target" not in str(said)
