"""Questions about documents from files of every form, as `load` reads them."""

import json
from pathlib import Path

import pytest

from regard.data.asked import asks
from regard.data.load import load
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields.label import Label
from regard.tasks.answer import Answer

task = Answer()
fields = tuple(task.fields.values())


def loaded(path: Path, **more: object) -> Splits:
    return load("", fields=fields, known=task.known, train=str(path), **more)  # type: ignore[arg-type]


def test_a_folder_of_squads_files(tmp_path: Path) -> None:
    asked = [{"id": "1", "question": "Who?", "answers": [{"text": "Ada", "answer_start": 4}]}]
    text = json.dumps({"data": [{"paragraphs": [{"context": "Hi, Ada.", "qas": asked}]}]})
    for name in ("train-v1.1.json", "dev-v1.1.json"):
        (tmp_path / name).write_text(text)
    splits = loaded(tmp_path)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [1, 1, 0]
    assert splits.valid[0].spans == ((4, 7),)


def test_json_lines(tmp_path: Path) -> None:
    rows = [
        {"context": "Ada met Bo.", "question": "Who met Bo?", "answers": {"text": ["Ada"], "answer_start": [0]}},
        {"context": "Ada met Bo.", "question": "Whom?", "answers": ["Bo", "bo"], "choices": ["Ada", "Bo"]},
        {"context": "Ada met Bo.", "question": "Where?", "answers": []},
    ]
    for name in ("train", "valid"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    splits = loaded(tmp_path)
    assert [one.references for one in splits.valid] == [("Ada",), ("Bo", "bo"), ("",)]
    assert splits.valid[0].spans == ((0, 3),)
    assert splits.valid[1].choices == ("Ada", "Bo")
    assert [one.target for one in splits.train] == ["Ada", "Bo", "bo", ""]  # an example for each reference


def test_tables_and_numbered_lines(tmp_path: Path) -> None:
    rows = "".join(f"Ada {n} left.\tWho left?\tAda\n" for n in range(30))
    (tmp_path / "qa.tsv").write_text(rows)
    splits = loaded(tmp_path / "qa.tsv")
    assert len(splits.train) == 30 - len(splits.valid) - len(splits.test)
    (tmp_path / "qa1_train.txt").write_text("".join(f"1 Ada {n} left.\n2 Bo.\n3 Who?\tAda\t1\n" for n in range(30)))
    assert loaded(tmp_path / "qa1_train.txt").train[0].inputs[0].endswith("left. Bo.")


def test_all_questions_about_a_document_stay_together(tmp_path: Path) -> None:
    rows = "".join(f"Ada {n // 5} left.\tWho left {n}?\tAda\n" for n in range(200))
    (tmp_path / "qa.tsv").write_text(rows)
    splits = loaded(tmp_path / "qa.tsv")
    parts = [{one.source for one in part} for part in (splits.train, splits.valid, splits.test)]
    assert all(parts)
    assert sum(map(len, parts)) == len(set.union(*parts)) == 40


def test_a_form_that_is_another_tasks(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(
        RegardError, match="read as squad, which has questions about documents; expected the task answer"
    ):
        load("", fields=(fields[0], Label()), known=(), train=str(tmp_path / "a.json"), form="squad")
    assert asks(fields)
    assert not asks((fields[0], Label()))
    (tmp_path / "b.txt").write_text("1 Ada.\n2 Bo.\n")
    with pytest.raises(RegardError, match="no questions"):
        loaded(tmp_path / "b.txt")
