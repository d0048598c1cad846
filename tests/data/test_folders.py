"""Folders of files: a folder's name is the label of its files."""

from pathlib import Path

import pytest

from regard.data.folders import folders, read_folders
from regard.data.load import parts_of
from regard.errors import RegardError


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def test_a_folder_for_each_label(tmp_path: Path) -> None:
    put(tmp_path, "dog/7.png", "cat/2.jpg", "cat/1.jpg", "cat/.hidden")
    assert folders(str(tmp_path), parts_of) == {"train": str(tmp_path)}
    found = read_folders(str(tmp_path))
    assert [(one.source, one.target) for one in found] == [
        (str(tmp_path / name), name[:3]) for name in ("cat/1.jpg", "cat/2.jpg", "dog/7.png")
    ]
    assert found[0].where == found[0].source


def test_parts(tmp_path: Path) -> None:
    put(tmp_path, "train/cat/1.jpg", "Dev/cat/2.jpg", "test/dog/3.jpg")
    found = folders(str(tmp_path), parts_of)
    assert {part: Path(folder).name for part, folder in found.items()} == {
        "train": "train",
        "valid": "Dev",
        "test": "test",
    }
    [one] = read_folders(found["test"])
    assert one.target == "dog"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert folders(str(tmp_path), parts_of) == {}
    put(tmp_path, "test/cat/1.jpg")
    with pytest.raises(RegardError, match=r"no folder named train next to test$"):
        folders(str(tmp_path), parts_of)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RegardError, match=r"empty: no files; expected a subfolder for each label"):
        read_folders(str(tmp_path / "empty"))
