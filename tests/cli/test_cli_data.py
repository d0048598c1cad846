"""`regard data`: a report; problems are advice, and no reason to fail."""

import json
from pathlib import Path

from command_line import Regard


def test_counts_and_advice(regard: Regard, pairs: Path, tmp_path: Path) -> None:
    path = tmp_path / "more.tsv"
    path.write_text(pairs.read_text() + "abc\tcba\nabc\tcba\n\tx\n")
    said = regard("data", "translate", "--data", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{path}\n")
    assert "train" in said.out
    assert "empty source" in said.out
    assert "repeated from an earlier line" in said.out


def test_json(regard: Regard, pairs: Path) -> None:
    said = regard("data", "translate", "--data", pairs, "--json")
    assert said.out.count("\n") == 1
    report = json.loads(said.out)
    assert sum(part["rows"] for part in report["parts"].values()) == 60


def test_columns_by_name(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "named.tsv"
    path.write_text("id\tde\ten\n1\teins\tone\n2\tzwei\ttwo\n3\tdrei\tthree\n")
    said = regard("data", "translate", "--data", path, "data.source=de", "data.target=en", "--json")
    assert sum(part["rows"] for part in json.loads(said.out)["parts"].values()) == 3
    assert "3 fields" in regard("data", "translate", "--data", path).line()
    assert "did you mean 'source'?" in regard("data", "translate", "data.sorce=de").line()


def test_an_unknown_task(regard: Regard) -> None:
    assert regard("data", "translat").line().endswith("did you mean 'translate'?")


def test_labels_of_tokens_are_told_apart(regard: Regard, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"a b {n}\tO B O\n" for n in range(40)) + "c d\tO RARE\n")
    said = regard("data", "tag", "--data", str(path)).out
    assert "train: 3 labels: O " in said  # the one sentence that has it is never held out
    assert "RARE 1" in said
