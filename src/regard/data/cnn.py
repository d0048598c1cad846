"""CNN's and Daily Mail's questions: a file for each, `HASH.question`, with blank lines between its parts.

    the address of the page  /  the document  /  the question, with @placeholder  /  the answer, as @entity3  /
    a line for each entity: @entity3:Ada Lovelace

The entities of the document are the words to choose from. Hermann et al. 2015, "Teaching Machines to Read and
Comprehend".

    read_cnn("cnn/questions/training")
"""

import os
from pathlib import Path

from regard.data.lines import TextFile
from regard.data.readlog import ReadLog
from regard.errors import RegardError
from regard.types import Example

__all__ = ["is_cnn", "read_cnn"]

ENDING = ".question"
MOST = 1_000_000  # files of a folder


def is_cnn(path: str) -> bool:
    """Whether it is a file of this form, or a folder of some."""
    place = os.path.expanduser(path)
    if not os.path.isdir(place):
        return path.endswith(ENDING)
    with os.scandir(place) as files:
        return any(one.name.endswith(ENDING) for _, one in zip(range(1000), files, strict=False))


def read_cnn(path: str, encoding: str, log: ReadLog) -> list[Example]:
    """An example for each file."""
    place = Path(os.path.expanduser(path))
    files = [place]
    if place.is_dir():
        files = sorted(one for one in place.iterdir() if one.name.endswith(ENDING))
        if len(files) > MOST:
            raise RegardError(f"{path}: more than {MOST:,} files", do="divide them into folders")
    found = []
    for file in files:
        parts: list[list[str]] = [[]]
        for line in TextFile(str(file), encoding, log).lines():
            if line is None:
                continue
            if line.strip():
                parts[-1].append(line.strip())
            elif parts[-1]:
                parts.append([])
        texts = [" ".join(part) for part in parts if part]
        if len(texts) < 4:
            log.bad("fields", f"{file}:1", f"{len(texts)} parts", "address, document, question, answer and entities")
            continue
        choices = tuple(line.partition(":")[0] for line in parts[4]) if len(texts) > 4 else ()
        found.append(Example((texts[1], texts[2]), texts[3], str(file), choices=choices))
    return found
