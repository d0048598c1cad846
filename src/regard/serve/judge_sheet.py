"""What is to be judged: source lines, the outputs of several systems, and references if there are any.

Systems are numbered by what they wrote, not by the names or the order of their files, so a moved file is the same
system. Systems that wrote the same for a line are shown once there, and marked together. Which lines are taken, and in
which order a judge sees the outputs of a line, is drawn by hashing with the seed: the same wherever it is drawn again.

    sheet = read_sheet(["a.txt", "b.txt"], "source.txt")
    order(sheet.groups(1), seed=0, judge="ana", line=1)  →  [[1], [0]]
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from regard.data.lines import lines
from regard.errors import RegardError

__all__ = ["Sheet", "order", "read_sheet", "sample"]

most = 9  # outputs side by side; a place is one digit, and nobody ranks more


@dataclass(frozen=True)
class Sheet:
    """Lines are counted from 1, systems from 0."""

    names: tuple[str, ...]
    outputs: tuple[tuple[str, ...], ...]  # of each system, a text a line
    source: tuple[str, ...]
    reference: tuple[str, ...] | None = None

    def groups(self, line: int) -> list[list[int]]:
        """The systems by what they wrote for a line: those that wrote the same stand together."""
        same: dict[str, list[int]] = {}
        for system, texts in enumerate(self.outputs):
            same.setdefault(texts[line - 1], []).append(system)
        return list(same.values())

    @cached_property
    def digests(self) -> dict[str, str]:
        """What the source, the reference and all outputs are, in a few letters each."""
        return {
            "source": _digest(self.source),
            "reference": "none" if self.reference is None else _digest(self.reference),
            "outputs": _hash(*map(_digest, self.outputs)),
        }


def read_sheet(outputs: Sequence[str], source: str, reference: str | None = None) -> Sheet:
    """Files of one line each for one line of the source."""
    if not 2 <= len(outputs) <= most:
        raise RegardError(f"{len(outputs)} output file{'s' * (len(outputs) != 1)}", expected=f"2 to {most}")
    names = _names(outputs)
    paths = [source, *outputs, *([] if reference is None else [reference])]
    read = {path: tuple(lines(path)) for path in dict.fromkeys(paths)}
    if not any(text.strip() for text in read[source]):
        raise RegardError(f"{source}: only blank lines", expected="one source per line")
    for path, texts in read.items():
        if len(texts) != len(read[source]):
            raise RegardError(
                f"{path}: {len(texts):,} line{'s' * (len(texts) != 1)}",
                expected=f"{len(read[source]):,}, as in {source}",
                do="give files with one line per source line",
            )
    named = zip(names, (read[path] for path in outputs), strict=True)
    systems = sorted(named, key=lambda system: (_digest(system[1]), system[0]))
    return Sheet(
        names=tuple(name for name, _ in systems),
        outputs=tuple(texts for _, texts in systems),
        source=read[source],
        reference=None if reference is None else read[reference],
    )


def sample(total: int, seed: int, count: int | None = None) -> list[int]:
    """The lines to be judged, in their order; a larger count takes the same lines and more."""
    drawn = sorted(range(1, total + 1), key=lambda line: _hash(seed, line))
    return sorted(drawn[:count])


def order(groups: list[list[int]], seed: int, judge: str, line: int) -> list[list[int]]:
    """The groups as a judge is to see them."""
    return sorted(groups, key=lambda group: _hash(seed, judge, line, min(group)))


def _names(paths: Sequence[str]) -> list[str]:
    """What systems are called in the report: as little of the path as tells them apart."""
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise RegardError(f"{twice}: given twice", expected="one file per system")
    for called in (lambda path: Path(path.removesuffix(".gz")).stem, lambda path: Path(path).name, str):
        names = [called(path) for path in paths]
        if len(set(names)) == len(names):
            break
    return names


def _digest(texts: Sequence[str]) -> str:
    return blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()  # no text holds a line feed


def _hash(*values: str | int) -> str:
    return blake2b(json.dumps(values).encode(), digest_size=16).hexdigest()
