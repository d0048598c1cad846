"""Where a model lies: folders, the hub with its package or without, files that are no JSON."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.errors import RegardError
from regard.pretrained.source import located, read_json


def test_a_name_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(RegardError, match=r"hf:a/b needs the huggingface_hub package; pip install 'regard\[hf\]'"):
        located("hf:a/b")


def test_only_what_is_needed_is_brought_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def snapshot_download(name: str, allow_patterns: list[str]) -> str:
        asked.update(name=name, files=allow_patterns)
        if name == "a/none":
            raise OSError("404\nand more")
        return str(tmp_path)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    assert located("hf:a/b") == tmp_path
    assert asked["name"] == "a/b"
    assert not [one for one in asked["files"] if one.endswith((".bin", ".py", ".pt", ".h5"))]
    with pytest.raises(RegardError, match=r"hf:a/none could not be downloaded \(404\)"):
        located("hf:a/none")


def test_files_that_are_no_objects_are_told(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with pytest.raises(RegardError, match=r"has no config\.json"):
        read_json(path, 100)
    for content in ("[1]", "{", "[" * 99, "\xff"):
        path.write_text(content, encoding="latin-1")
        with pytest.raises(RegardError, match=r"config\.json"):
            read_json(path, 100)
    path.write_text("{}" + " " * 99)
    with pytest.raises(RegardError, match="at most 100"):
        read_json(path, 100)
