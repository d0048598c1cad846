"""SQuAD's JSON: every form of answers, and what is wrong is named with its place."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.data.squad import answers_of, is_squad, read_squad
from regard.errors import RegardError
from regard.types import Example

ASKED = {"id": "q7", "question": "Who left?", "answers": [{"text": "Ada", "answer_start": 0}]}


def whole(*asked: Any, context: Any = "Ada left. 🙂 Bo stayed.") -> dict[str, Any]:
    return {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": list(asked)}]}]}


def read(folder: Path, value: Any, log: ReadLog | None = None) -> list[Example]:
    path = folder / "train.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return read_squad("train.json", TextFile(str(path)), log or ReadLog())


def test_every_question_is_an_example(tmp_path: Path) -> None:
    two = {
        "question": "Who stayed?",
        "answers": [{"text": one, "answer_start": 12} for one in ("Bo", "Bo stayed", "Bo")],
    }
    first, second = read(tmp_path, whole(ASKED, two))
    assert first == Example(("Ada left. 🙂 Bo stayed.", "Who left?"), "Ada", "train.json:q7", spans=((0, 3),))
    assert second.references == ("Bo", "Bo stayed")
    assert [second.source[a:b] for a, b in second.spans] == ["Bo", "Bo stayed"]  # by characters, not bytes
    assert second.where == "train.json:data[0].paragraphs[0].qas[1]"


def test_a_question_without_an_answer(tmp_path: Path) -> None:
    none = {**ASKED, "is_impossible": True, "plausible_answers": []}
    [one] = read(tmp_path, whole(none))
    assert (one.references, one.spans) == (("",), ())


def test_a_file_that_is_packed(tmp_path: Path) -> None:
    path = tmp_path / "dev.json.gz"
    path.write_bytes(gzip.compress(json.dumps(whole(ASKED)).encode()))
    assert len(read_squad("dev.json.gz", TextFile(str(path)), ReadLog())) == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{"version": "1.1", "data": [', r"train\.json: not JSON \("),
        ({"data": 3}, r"train\.json: 'data' is 3; expected a list"),
        (
            {"data": [{"paragraphs": [3]}]},
            r"train\.json:data\[0\]\.paragraphs\[0\]: 'context' is None; expected a text",
        ),
        (whole(3), r"qas\[0\] is 3; expected an object"),
        (whole(), "no questions"),
        (whole(ASKED, context=None), "'context' is None; expected a text"),
        (whole({**ASKED, "question": 3}), r"'question' is 3; expected a text"),
        (whole({**ASKED, "answers": [{"text": "Ada", "answer_start": "0"}]}), "train.json:q7: answers are"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(RegardError, match=said) as caught:
        read(tmp_path, value)
    assert "\n" not in str(caught.value)


def test_a_wrong_question_can_be_skipped(tmp_path: Path) -> None:
    log = ReadLog(skip=True)
    assert len(read(tmp_path, whole(ASKED, {**ASKED, "question": 3}), log)) == 1
    assert log.faults[0].count == 1


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("Ada", (("Ada",), ())),
        (["Ada", "Ada", "she"], (("Ada", "she"), ())),
        ({"text": ["Ada", "Bo"], "answer_start": [0, 9]}, (("Ada", "Bo"), ((0, 3), (9, 11)))),
        ({"text": "Ada", "answer_start": 4}, (("Ada",), ((4, 7),))),
        ({"text": [], "answer_start": []}, (("",), ())),
        ({"text": ["Ada"]}, (("Ada",), ())),
        ([{"text": "Ada", "answer_start": -1}], (("Ada",), ())),
        ([], (("",), ())),
    ],
)
def test_the_forms_of_answers(given: Any, found: Any) -> None:
    assert answers_of(given, "x") == found


@pytest.mark.parametrize(
    "given", [3, None, {"text": ["a"], "answer_start": [0, 1]}, [{"answer_start": 0}], {"text": 3}]
)
def test_answers_that_are_none(given: Any) -> None:
    with pytest.raises(RegardError, match=r"^x: answers are .*; expected texts, objects with"):
        answers_of(given, "x")


def test_how_it_is_recognised() -> None:
    assert is_squad('{"version": "1.1", "data"')
    assert is_squad('\n{ "data" : [')
    assert not is_squad('{"document": "x"}')
