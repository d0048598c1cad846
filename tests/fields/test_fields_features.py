"""Features in files: what is there is found by another process, and what is damaged is not."""

import pickle
from pathlib import Path

import pytest
import torch

from regard.errors import RegardError
from regard.fields._features import Features


def test_what_was_added_is_there(tmp_path: Path) -> None:
    kept = Features(tmp_path / "some" / "folder")
    assert kept.missing(["b", "a", "b"]) == ["b", "a"]
    kept.add({"a": torch.tensor([1.0, 2.0]).half()})
    kept.add({"b": torch.tensor([3.0]).half()})
    assert len(list(kept.folder.iterdir())) == 2
    for one in (kept, Features(kept.folder), pickle.loads(pickle.dumps(kept))):
        assert one.missing(["a", "b", "c"]) == ["c"]
        assert (one["a"].tolist(), one["b"].dtype) == ([1.0, 2.0], torch.float16)


def test_a_damaged_file_counts_as_missing(tmp_path: Path) -> None:
    Features(tmp_path).add({"a": torch.ones(3)})
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:10])
    again = Features(tmp_path)
    assert again.missing(["a"]) == ["a"]
    again.add({"a": torch.ones(3)})
    assert again["a"].sum() == 3
    file.unlink()
    with pytest.raises(RegardError, match="cannot read features from"):
        pickle.loads(pickle.dumps(again))["a"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RegardError, match=r"cannot write features to .*; set XDG_CACHE_HOME to another"):
        Features(tmp_path / "file" / "in").add({"a": torch.ones(1)})
