"""A small trained run for all tests of the command line, and a way to call it as a user would."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from regard.cli.main import answer

tiny = [
    *(
        "source.tokenizer=character",
        "target.tokenizer=character",
        "source.embed.dim=16",
        "encoder.hidden=16",
        "encoder.layers=1",
    ),
    *("decoder.embed=16", "decoder.hidden=16", "decoder.layers=1"),
    *("attention.score.hidden=16", "best_metric=token_accuracy", "source.embed.dropout=0.0", "label_smoothing=0.0"),
    *(
        "train.steps=30",
        "train.validate_every=15",
        "train.batch_size=16",
        "train.lr=0.02",
        "train.warmup=5",
        "train.ema=0.5",
    ),
]


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    def line(self) -> str:
        """The one line of a mistake: exit code 2, nothing on stdout, no traceback."""
        assert self.code == 2, self
        assert self.err.count("\n") == 1, self
        assert self.err.startswith("regard: "), self
        assert "Traceback" not in self.err, self
        return self.err.removeprefix("regard: ").rstrip("\n")


Regard = Callable[..., Said]


@pytest.fixture
def regard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Regard:
    """`regard("evaluate", run, "--json")`: what the words say, done in this process."""

    monkeypatch.setattr("regard.train.progress.PATIENCE", 60.0)  # a busy machine is not told about

    def call(*words: object, stdin: bytes = b"") -> Said:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin), isatty=lambda: False))
        capsys.readouterr()
        code = answer([str(word) for word in words])
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty words and the same words backwards."""
    random = Random(0)
    words = dict.fromkeys("".join(random.choices("abcdef", k=random.randint(2, 5))) for _ in range(90))
    path = tmp_path_factory.mktemp("data") / "pairs.tsv"
    path.write_text("".join(f"{word}\t{word[::-1]}\n" for word in list(words)[:60]), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def run(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; look, do not touch."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    assert answer(["train", "translate", "--data", str(pairs), "--out", str(folder), "--quiet", *tiny]) == 0
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder with what is in it."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


class Drip:
    """A stream that gives few bytes at a time."""

    def __init__(self, data: bytes, piece: int) -> None:
        self.data, self.piece = data, piece

    def read(self, size: int) -> bytes:
        some, self.data = self.data[: self.piece], self.data[self.piece :]
        return some
