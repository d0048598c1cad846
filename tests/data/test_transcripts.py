"""Recordings with their transcripts in a folder: tables, texts beside them, and parts."""

from pathlib import Path

import pytest

from regard.data.load import load
from regard.data.readlog import ReadLog
from regard.data.splits import Splits
from regard.data.transcripts import any_beside, find_transcripts, read_beside
from regard.errors import RegardError
from regard.fields.audio import Audio
from regard.fields.tokens import Tokens
from regard.tasks.transcribe import Transcribe


def loaded(folder: Path) -> Splits:
    return load("", [Audio(rate=8_000), Tokens()], Transcribe.known, train=str(folder))


def put(path: Path, content: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def test_a_table_and_paths_from_its_folder(tmp_path: Path) -> None:
    rows = "".join(f"a/{n}.wav,word {n}\n" for n in range(20))
    put(tmp_path / "metadata.csv", "file_name,transcription\n" + rows)
    for n in range(20):
        put(tmp_path / "a" / f"{n}.wav")
    assert find_transcripts(str(tmp_path)) == str(tmp_path / "metadata.csv")
    splits = loaded(tmp_path)
    assert {Path(one.source).is_file() for one in splits.train} == {True}
    assert splits.train[0].target.startswith("word ")
    put(tmp_path / "transcripts.tsv", "path\ttext\n")
    with pytest.raises(RegardError, match=r"several tables: metadata.csv, transcripts.tsv"):
        find_transcripts(str(tmp_path))


def test_texts_beside_recordings_in_parts(tmp_path: Path) -> None:
    for part, count in (("train", 4), ("valid", 1), ("test", 2)):
        for n in range(count):
            put(tmp_path / part / f"{n}.wav")
            put(tmp_path / part / f"{n}.txt", f"{part}\n {n}\n")
    put(tmp_path / "train" / "none.flac")
    splits = loaded(tmp_path)
    assert [len(part) for part in (splits.train, splits.valid, splits.test)] == [4, 1, 2]
    assert splits.test[1].target == "test 1"
    assert splits.test[1].where.endswith("1.txt")
    assert splits.notes == [f"{tmp_path / 'train'}: 1 recording without a .txt beside it left out"]


def test_nothing_beside_is_told(tmp_path: Path) -> None:
    put(tmp_path / "a.wav")
    assert not any_beside(str(tmp_path))
    with pytest.raises(RegardError, match=r"no recording with its text; expected one.wav and one.txt beside it"):
        read_beside(str(tmp_path), ReadLog())
