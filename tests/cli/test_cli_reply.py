"""`reply` from the command line: suggestions and silence, JSON, look, data, a page."""

import json
from pathlib import Path

import pytest
from command_line import Regard

from regard import api

ROWS = [
    (f"{a} {b}", reply)
    for b in ("today", "tomorrow", "on friday", "next week")
    for a, reply in (
        ("can you come", "Sure, count me in."),
        ("will you be there", "No, I can't."),
        ("thanks", "Any time!"),
    )
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reply") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.train.loop.draw", lambda folder: None)
        options = {
            "message": {"embed": {"dim": 8}},
            "encoder": {"name": "bigru", "hidden": 8, "layers": 1},
            "decoder": {"name": "prefix", "embed": 8, "hidden": 8},
        }
        train = {"steps": 4, "device": "cpu", "auto": False}
        data = {"train": ROWS * 3, "valid": ROWS, "test": ROWS}
        api.train("reply", data=data, out=folder, quiet=True, train=train, threshold=1e-6, **options)
    return folder


def test_suggestions_and_silence(trained: Path, regard: Regard) -> None:
    said = regard("predict", trained, "can you come tomorrow", "my father died")
    assert said.code == 0
    first, second = said.out.splitlines()
    shown = {one.partition(" (")[0] for one in first.split("\t")}
    assert shown
    assert shown <= {"Sure, count me in.", "No, I can't.", "Any time!"}
    assert second == "(no suggestion: sensitive (death))"


def test_as_json(trained: Path, regard: Regard) -> None:
    said = regard("predict", trained, "--json", "can you come tomorrow", "my father died")
    first, second = map(json.loads, said.out.splitlines())
    assert {one["intent"] for one in first["suggestions"]} <= {"accept", "decline", "welcome"}
    assert first["text"] == first["suggestions"][0]["text"]
    assert 0.3 < sum(one["probability"] for one in first["suggestions"]) < 1.0001  # there are only three replies
    assert first["silent"] is None
    assert (second["text"], second["suggestions"], second["silent"]) == ("", [], "sensitive (death)")


def test_look(trained: Path, regard: Regard, tmp_path: Path) -> None:
    said = regard("look", trained, "can you come tomorrow")
    assert said.code == 0
    assert said.out.startswith("can you come tomorrow\n  ")
    assert said.out.count("</s>") >= 2
    assert "(no suggestion: sensitive (death))" in regard("look", trained, "my father died").out
    wrong = regard("look", trained, "my father died", "-o", tmp_path / "why.png").line()
    assert wrong == "nothing is suggested: sensitive (death); expected a message with suggestions, for a picture"
    assert regard("look", trained, "my father died", "-o", tmp_path / "why.html").code == 0
    assert '"silent":"sensitive (death)"' in (tmp_path / "why.html").read_text()


def test_beams_have_no_place_here(trained: Path, regard: Regard) -> None:
    assert "has no search" in regard("predict", trained, "--beam", 3, "can you come").line()


def test_what_cleaning_does(regard: Regard, tmp_path: Path) -> None:
    rows = [json.dumps([f"Hi Ann,\nare you in room {n}x?", "Yes, I am."]) for n in "abcdefgh"]
    (tmp_path / "talk.jsonl").write_text("\n".join(rows))
    said = regard("data", "reply", "--data", tmp_path / "talk.jsonl")
    assert said.code == 0
    assert "cleaning, of " in said.out
    assert "    greeting: 'are you in room " in said.out
    assert "prepared" in json.loads(regard("data", "reply", "--json", "--data", tmp_path / "talk.jsonl").out)
    other = regard("data", "translate", "--data", tmp_path / "talk.jsonl", "data.form=turns").line()
    assert "which has messages and their replies; expected the task reply" in other
