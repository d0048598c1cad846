"""Folders of files, one value a file: the name of a file's folder is its label.

photos/cat/1.jpg, photos/dog/7.png                  # label cat, label dog
photos/train/cat/1.jpg, photos/test/cat/9.jpg       # with parts

read_folders("photos")
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from regard.errors import RegardError
from regard.types import Example

__all__ = ["folders", "read_folders"]


def folders(folder: str, names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Part → its folder; all of it is train where no subfolder is named after a part, and empty where files are."""
    here = Path(os.path.expanduser(folder))
    inner = {path.name.lower(): path for path in here.iterdir() if path.is_dir()}
    if not inner:
        return {}
    found = {part: str(inner[name]) for part, some in names.items() for name in some if name in inner}
    if found and "train" not in found:
        raise RegardError(f"{folder}: no folder named train next to {', '.join(sorted(found))}")
    return found or {"train": str(here)}


def read_folders(folder: str) -> list[Example]:
    """An example for each file, in the order of their paths."""
    examples = [
        Example((str(path),), path.parent.name, str(path))
        for path in sorted(Path(os.path.expanduser(folder)).glob("*/*"))
        if path.is_file() and not path.name.startswith(".")
    ]
    if not examples:
        raise RegardError(f"{folder}: no files", expected="a subfolder for each label, with the files of that label")
    return examples
