"""Questions about a document on the command line: one document and many questions, and JSON lines."""

import json
from pathlib import Path

import pytest
from command_line import Regard

from regard import api

pytestmark = pytest.mark.usefixtures("one_thread")
TEXT = "Ada is in the hall. Bo is in the shed.\n"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    rows = [(f"{a} is in the {b}.", f"Where is {a}?", b) for a in ("Ada", "Bo") for b in ("hall", "shed", "park")]
    (folder / "qa.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    cell = {"name": "bigru", "hidden": 4}
    api.train(
        "answer", data=str(folder / "qa.tsv"), out=folder / "run", quiet=True, input={"embed": {"dim": 4}},
        encoder=cell, again=cell, point={"hidden": 4, "pool": 2}, train={"steps": 2, "report_to": "none"},
    )  # fmt: skip
    (folder / "story.txt").write_text(TEXT)
    return folder


def test_many_questions_about_one_document(regard: Regard, reader: Path) -> None:
    said = regard(
        "predict", reader / "run", "--document", reader / "story.txt", "Where is Ada?", "Where is Bo?", "--json"
    )
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert [row["inputs"][1] for row in rows] == ["Where is Ada?", "Where is Bo?"]
    for row in rows:
        assert TEXT[row["start"] : row["end"]] == row["text"]
        assert len(row["others"]) == 4
        assert all(TEXT[one["start"] : one["end"]] == one["text"] for one in row["others"])
        assert row["probability"] >= row["others"][0]["probability"] > 0


def test_how_many_answers(regard: Regard, reader: Path) -> None:
    said = regard("predict", reader / "run", "-d", TEXT, "Where is Ada?", "--json", "--n-best", "2")
    assert len(json.loads(said.out)["others"]) == 1


def test_lines_of_json_or_questions(regard: Regard, reader: Path) -> None:
    line = json.dumps({"document": TEXT, "question": "Where is Bo?"})
    by_line = regard("predict", reader / "run", stdin=f"{line}\n".encode())
    alone = regard("predict", reader / "run", "--document", reader / "story.txt", stdin=b"Where is Bo?\n")
    assert by_line.out == alone.out != ""


def test_what_is_wrong_is_told(regard: Regard, reader: Path, run: Path) -> None:
    assert "nothing.txt: no such file" in regard("predict", reader / "run", "-d", "nothing.txt", "Where is it?").line()
    assert (
        regard("predict", run, "-d", reader / "story.txt", "x y").line().startswith("--document; expected a run of the")
    )
    failed = regard("predict", reader / "run", stdin=b"no question\n")
    assert failed.code == 3
    assert "1 field; expected 2, separated by TAB (document, question)" in failed.err


def test_whether_weights_explain_is_not_asked_of_a_pointer(regard: Regard, reader: Path) -> None:
    assert "is a run of answer; expected a task that" in regard("faithful", reader / "run").line()
