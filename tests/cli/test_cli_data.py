"""`regard data`: a report. What train refuses is an error and exit code 2; the rest is advice."""

import json
from pathlib import Path

import pytest
from command_line import Regard

from regard.data.load import load
from regard.find import settable
from test_readme import blocks


def test_counts_and_advice(regard: Regard, pairs: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.tsv"
    path.write_text(pairs.read_text() + "abc\tcba\nabc\tcba\n")
    said = regard("data", "translate", "--data", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{path}\n")
    assert "train" in said.out
    assert "refuses" not in said.out
    assert "repeated from an earlier line" in said.out


def test_json(regard: Regard, pairs: Path) -> None:
    said = regard("data", "translate", "--data", pairs, "--json")
    assert said.out.count("\n") == 1
    report = json.loads(said.out)
    assert sum(part["rows"] for part in report["parts"].values()) == 60
    assert (report["refused"], report["notes"]) == (False, [])
    assert {problem["severity"] for problem in report["problems"]} <= {"advice"}


def test_columns_by_name(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "named.tsv"
    path.write_text("id\tthere\tback\n1\teins\tone\n2\tzwei\ttwo\n3\tdrei\tthree\n4\tvier\tfour\n")
    said = regard("data", "translate", "--data", path, "data.source=there", "data.target=back", "--json")
    assert sum(part["rows"] for part in json.loads(said.out)["parts"].values()) == 4
    unnamed = regard("data", "translate", "--data", path)
    assert unnamed.code == 2
    assert (
        "5 lines with a wrong number of fields; expected 2 (source, target); remove the extra tab, "
        "or choose columns by name or number, as with data.source=1 data.target=2" in unnamed.out
    )
    assert "did you mean 'source'?" in regard("data", "translate", "data.sorce=de").line()
    wrong = regard("data", "translate", "--data", path, "data.source=ther", "data.target=back").line()
    assert wrong == f"{path}:1: 'ther' is not a column; did you mean 'there'? columns: there, id, back"


def test_roles_name_columns(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "nli.csv"
    path.write_text("".join(f"{'yn'[n % 2]},{n} a,{n} b\n" for n in range(9)).join(["C,B,A\n", ""]))
    named = ["data.premise=B", "data.hypothesis=A", "data.label=C"]
    report = json.loads(regard("data", "entail", "--data", path, *named, "--json").out)
    assert report["parts"]["train"]["labels"].keys() == {"y", "n"}
    assert "did you mean 'premise'?" in regard("data", "entail", "--data", path, "data.premis=B").line()
    assert "unknown option 'data.premise'" in regard("data", "classify", "--data", path, "data.premise=B").line()
    twice = regard("data", "entail", "--data", path, *named, "data.target=C").line()
    assert "data.target and data.premise; expected only one of them" in twice


broken = """id;Review;Sentiment
1;A fine film, really;good
2;A bad film;bad
3;;bad
4;Too long

5;Great; really great;good
6;I loved it;good
7;A bad one;Bad
8;Nothing new here;
9;A fine film, really;good
""" + "".join(f"{n};Film number {n};{'good' if n % 2 else 'bad'}\n" for n in range(20, 40))


def test_everything_at_once(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    path.write_text(broken)
    first = regard("train", "classify", "--data", path, "--dry-run", "--out", tmp_path / "run").line()
    assert first.startswith(f"{path}:5: 2 fields; expected 3, as in line 1; separate the fields with a semicolon")
    assert first.endswith("or set data.skip=true to skip such lines")
    path.write_bytes(broken.encode() + b"10;caf\xe9;good\n11;good\xff\xfe\xfd;b\xc3\xa4d\n")
    said = regard("data", "classify", "--data", path)
    assert said.code == 2
    report = json.loads(regard("data", "classify", "--data", path, "--json").out)
    assert report["refused"]
    errors = {one["kind"]: one for one in report["problems"] if one["severity"] == "error"}
    assert list(errors) == ["encoding", "fields", "empty"]
    assert errors["fields"]["examples"] == [f"{path}:5: 2 fields", f"{path}:7: 4 fields"]
    assert errors["empty"]["examples"] == [f"{path}:4: an empty text", f"{path}:10: an empty label"]
    assert [note.split(": ")[1].split(" ")[0] for note in report["notes"]] == ["separated", "line", "skipped"]
    skipped = regard("data", "classify", "--data", path, "data.skip=true")
    assert skipped.code == 0
    assert "skipped 2 lines with an empty text or label" in skipped.out


def test_train_refuses_the_same(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"text {n}\tsame\n" for n in range(9)))
    why = "every label is 'same'; expected at least two different labels"
    said = regard("data", "classify", "--data", path)
    assert said.code == 2
    assert f"train refuses this data:\n  train: {path}:1: {why}\n" in said.out
    assert (
        regard("train", "classify", "--data", path, "--dry-run", "--out", tmp_path / "run").line() == f"{path}:1: {why}"
    )
    path.write_text("a\tb\tc\n" * 3)
    said = regard("data", "classify", "--data", path)
    assert (said.code, "3 lines with a wrong number of fields" in said.out) == (2, True)


def test_hardly_two_examples_share_a_label(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"text {n}\tlabel {n // 2 if n < 4 else n}\n" for n in range(40)))
    said = regard("data", "classify", "--data", path).out
    assert "examples: hardly any two have the same; check that data.target= names the column of labels" in said


def test_an_unknown_task(regard: Regard) -> None:
    assert regard("data", "translat").line().endswith("did you mean 'translate'?")


def test_labels_of_tokens_are_told_apart(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"a b {n}\tO B O\n" for n in range(40)) + "c d\tO RARE\n")
    said = regard("data", "tag", "--data", str(path)).out
    assert "train: 3 labels: O " in said  # the one sentence that has it is never held out
    assert "RARE 1" in said


def test_the_example_of_the_document(regard: Regard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    data, report = (block.text for block in blocks(page) if block.language == "text")
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text(data, encoding="utf-8")
    said = regard("data", "classify", "--data", "reviews.csv")
    assert (said.code, said.out) == (2, report)
    missing = [name for name in settable(load) if f"`data.{name}`" not in page]
    assert not missing, f"docs/data.md does not list {missing}"
