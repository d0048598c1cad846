"""Conversations: which turn replies to which, and what is no conversation."""

import gzip
from pathlib import Path

import pytest

from regard.data.load import load
from regard.data.readlog import ReadLog
from regard.data.turns import are_turns, read_turns
from regard.errors import RegardError
from regard.fields.message import Message
from regard.fields.suggestion import Suggestion

LINES = """["Hi, are you coming?", "Sure!", " ", "Great."]

{"turns": [{"text": "Where is it?"}, {"text": "Here."}]}
"""


def test_each_turn_replies_to_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl.gz"
    path.write_bytes(gzip.compress(LINES.encode()))
    assert are_turns(str(path))
    found = read_turns(str(path), "auto", ReadLog())
    assert [(one.source, one.target) for one in found] == [
        ("Hi, are you coming?", "Sure!"), ("Sure!", "Great."), ("Where is it?", "Here."),
    ]  # fmt: skip
    assert found[-1].where == f"{path}:3"


def test_other_files_are_no_conversations(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text('{"message": "hello there", "reply": "hi"}\n')
    assert not are_turns(str(tmp_path / "pairs.jsonl"))
    assert not are_turns(str(tmp_path / "pairs.tsv"))
    found = load("builtin:conversations", (Message(end=True), Suggestion()), (), train=str(tmp_path / "pairs.jsonl"))
    assert [(one.source, one.target) for one in found.train] == [("hello there", "hi")]


@pytest.mark.parametrize("line", ['["a", 1]', '"a"', "[", '{"turns": 3}'])
def test_a_line_that_is_no_conversation(line: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(f'["a", "b"]\n{line}\n')
    with pytest.raises(RegardError, match=r"talk.jsonl:2: .*expected a list of texts"):
        read_turns(str(path), "auto", ReadLog())
    assert len(read_turns(str(path), "auto", ReadLog(skip=True))) == 1


def test_turns_without_a_reply(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('["a"]\n["b"]\n')
    with pytest.raises(RegardError, match="no turn with a reply"):
        read_turns(str(path), "auto", ReadLog())
