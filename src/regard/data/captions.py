"""Captions of pictures, from a file or from a folder that holds both.

A file of captions is

- JSON lines or CSV with the keys `image` and `caption` (or `captions`, in JSON a list of them), or what `data.source=`
  and `data.target=` name; a line for each caption or for each picture;
- Flickr's token file: `1000268201.jpg#0 TAB A child in a pink dress .`

A folder holds `captions.jsonl`, `captions.csv` or a token file, or a file for each part (`train.jsonl`, `test.jsonl`).
Beside a token file Flickr's lists (`Flickr_8k.trainImages.txt`, `….devImages.txt`, `….testImages.txt`) say which
pictures belong to which part; without them the pictures are divided at random. The pictures are next to the captions or
in a subfolder.

    read_captions("flickr8k/Flickr8k.token.txt", fields)
    find_captions("flickr8k")          # "flickr8k/Flickr8k.token.txt"
"""

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from regard.data.lines import TextFile, each_line
from regard.data.read import Reading, read
from regard.data.readlog import ReadLog
from regard.data.splits import Splits
from regard.errors import RegardError, counted
from regard.fields import Field
from regard.types import Example

__all__ = ["by_lists", "find_captions", "read_captions"]

TOKEN = re.compile(r"(?P<picture>[^\t]+)#\d+\t(?P<caption>.*)")
NAMED = re.compile(r"captions\.(jsonl?|csv|tsv|txt)(\.gz)?|.*\.token(\.txt)?(\.gz)?", re.IGNORECASE)
LIST = re.compile(r"(?:.*[^a-z])?(?P<part>train|dev|val|valid|test)[_-]?images\.txt", re.IGNORECASE)
PARTS = {"train": "train", "dev": "valid", "val": "valid", "valid": "valid", "test": "test"}


def read_captions(
    path: str, fields: Sequence[Field], how: Reading | None = None, log: ReadLog | None = None
) -> list[Example]:
    """An example for each line. Pictures are found beside the file or below it."""
    how, log = how or Reading(), log or ReadLog()
    file = TextFile(path, how.encoding, log)
    first = file.head.partition("\n")[0].rstrip("\r")
    if how.form == "auto" and TOKEN.fullmatch(first):
        examples = _tokens(path, file, log)
    elif how.form == "auto" and re.sub(r"\s", "", first).lower() == "image,caption":  # Kaggle's captions.txt is CSV
        examples = read(path, fields, replace(how, form="csv"), log)
    else:
        examples = read(path, fields, how, log)
    place = _Pictures(Path(os.path.expanduser(path)).parent)
    return [replace(one, inputs=(place(one.source),)) for one in examples]


def find_captions(folder: str) -> str:
    """The one file of captions in a folder, or "" where there is none."""
    here = Path(os.path.expanduser(folder))
    there = [one.name for one in sorted(here.iterdir()) if one.is_file() and NAMED.fullmatch(one.name)]
    there = [name for name in there if ".lemma." not in name] or there  # Flickr8k.lemma.token.txt: the same as stems
    if len(there) > 1:
        raise RegardError(f"{folder}: several files of captions: {', '.join(there)}", do="choose one with data.train=")
    return str(here / there[0]) if there else ""


def by_lists(folder: str, examples: Sequence[Example], log: ReadLog) -> Splits:
    """The parts by Flickr's lists of pictures; all is train where there are none."""
    parts: dict[str, dict[str, str]] = {}
    for path in sorted(Path(os.path.expanduser(folder)).iterdir()):
        if found := LIST.fullmatch(path.name):
            names = {line.strip(): f"{path}:{number}" for number, line in enumerate(each_line(str(path)), 1)}
            parts[PARTS[found["part"].lower()]] = {name: at for name, at in names.items() if name}
    if not parts:
        return Splits(list(examples))
    if "train" not in parts:
        raise RegardError(f"{folder}: no list of training pictures", expected="one such as Flickr_8k.trainImages.txt")
    own: dict[str, list[Example]] = {}
    for example in examples:
        own.setdefault(Path(example.source).name, []).append(example)
    made: dict[str, list[Example]] = {}
    for part, names in parts.items():
        for name, at in names.items():
            if name not in own:
                raise RegardError(f"{at}: no captions of {name[:100]!r}")
        made[part] = [example for name in names for example in own[name]]
    if left := len(own.keys() - {name for names in parts.values() for name in names}):
        log.decide(f"{folder}: {counted(left, 'picture')} in none of the lists left out")
    return Splits(**made)


def _tokens(path: str, file: TextFile, log: ReadLog) -> list[Example]:
    examples = []
    for number, line in enumerate(file.lines(), 1):
        if line is None:  # it could not be read, and is in the log
            continue
        if found := TOKEN.fullmatch(line):
            examples.append(Example((found["picture"],), found["caption"], f"{path}:{number}"))
        elif line.strip():
            wanted = "picture.jpg#number, a tab and the caption"
            log.bad("fields", f"{path}:{number}", repr(line[:40]), wanted, "correct or remove the line")
    return examples


class _Pictures:
    """Where a picture of a name is: in the folder itself, or in one of its subfolders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        inner = sorted(one for one in islice(folder.iterdir(), 10_000) if one.is_dir())
        self.known = {name: str(one / name) for one in reversed(inner) for name in os.listdir(one)}

    def __call__(self, name: str) -> str:
        if name.startswith("data:"):
            return name
        direct = self.folder / os.path.expanduser(name)
        return str(direct) if direct.is_file() else self.known.get(name, str(direct))
