"""One finding of each kind, planted; and nothing said of a clean set."""

from text_columns import by_role, text_columns

from regard.data.problems import Problem, problems
from regard.data.report import report
from regard.data.splits import Splits
from regard.types import Example


def rows(name: str, *pairs: tuple[str, str]) -> list[Example]:
    return [Example((source,), target, f"{name}.tsv:{line}") for line, (source, target) in enumerate(pairs, 1)]


clean = [(f"ein Satz mit der Nummer {i}", f"a sentence with number {i}") for i in range(12)]


def found(train: list[tuple[str, str]], valid: list[tuple[str, str]] | None = None) -> dict[str, Problem]:
    splits = Splits(rows("train", *clean, *train), rows("valid", *(valid or [])), [])
    return {problem.kind: problem for problem in problems(splits, text_columns())}


def test_clean_sets_are_left_in_peace() -> None:
    said = report(Splits(rows("train", *clean[:9]), rows("valid", clean[10])), by_role())
    assert [p.kind for p in said.problems] == []
    assert "no problems found" in str(said)


def test_leak() -> None:
    problem = found([], [clean[3], ("ein Satz", "a sentence"), clean[4]])["leak"]
    assert (problem.split, problem.count) == ("valid", 2)
    assert problem.examples == ("valid.tsv:1 = train.tsv:4", "valid.tsv:3 = train.tsv:5")
    assert str(problem) == (
        "valid: 2 examples with the same source as in train, e.g. valid.tsv:1 = train.tsv:4; remove them from one split"
    )


def test_repeats_and_conflicts() -> None:
    problem = found([clean[0], clean[0]])["repeat"]
    assert (problem.count, problem.examples) == (2, ("train.tsv:13", "train.tsv:14"))
    problem = found([(clean[0][0], "another one of them")])["conflict"]
    assert (problem.count, problem.examples) == (1, ("train.tsv:13 and train.tsv:1",))
    assert "repeat" not in found([(clean[0][0], "another one of them")])


def test_copied_long_and_lopsided() -> None:
    assert found([("same here", "same here")])["copy"].examples == ("train.tsv:13",)
    assert found([("s" * 2001, "t" * 2000)])["long"].count == 1
    assert found([("ein Satz mit der Nummer", "a")])["ratio"].examples == ("train.tsv:13",)
    assert "ratio" not in found([("kurz", "a")])
    assert "ratio" not in found([("ein Satz mit der Nummer", "a")] * 4)  # so many that it is the way of this set


def test_characters() -> None:
    problem = found([], [("ein Satz ☃", "a ☃ sentence")])["character"]
    assert problem.examples[0] == "☃ at valid.tsv:1"
    assert found([("ein\x00Satz", "a")])["odd"].examples == ("U+0000 at train.tsv:13",)
    assert found([("ein Satz", "a \ufffd")])["odd"].examples == ("U+FFFD at train.tsv:13",)
    assert "odd" not in found([("ein\tSatz \u200d", "a\nb")])
    assert found([("é", "x"), ("e\u0301", "y")])["form"].examples == ("train.tsv:14",)
    assert "form" not in found([("e\u0301", "y")])
    assert "form" not in found([("é", "y")])


def test_header() -> None:
    assert found([]).get("header") is None
    train = rows("train", ("mr", "ref"), *clean)
    assert [
        p.split for p in problems(Splits(train, rows("valid", ("mr", "ref"))), text_columns()) if p.kind == "header"
    ] == [
        "train",
        "valid",
    ]
    assert [p.kind for p in problems(Splits(rows("train", ("Source", "target"), *clean)), text_columns())] == ["header"]
