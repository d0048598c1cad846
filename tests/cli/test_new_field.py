"""A kind of value that regard does not have needs its own module and nothing else.

`Waves` stands in this file alone. It is read from a folder, trained on, evaluated, predicted from files, looked at and
asked for over HTTP.
"""

import json
import wave
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pytest
import torch
from command_line import Regard
from torch import nn

import regard
from regard.errors import RegardError
from regard.fields import Input, Where, drop_positions
from regard.fields.embed import Embedding
from regard.ranges import Range, Width, ranged
from regard.regions import Interval, Region
from regard.types import Sequences

RATE, FRAME = 800, 40  # samples a second, samples of a frame


class Frames(Embedding):
    """Frames → vectors."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.linear = size, nn.Linear(FRAME, size)

    def forward(self, inputs: Sequences) -> Sequences:
        return replace(inputs, values=self.linear(inputs.values))


@dataclass(frozen=True)
class Sound:
    path: str
    frames: tuple[int, ...]


class Waves(Input):
    """A recording: the path of a WAV file."""

    kind: ClassVar[str] = "waves"
    noun: ClassVar[str] = "a recording"
    per_file: ClassVar[bool] = True
    slow: ClassVar[bool] = True

    @ranged
    def __init__(
        self,
        dim: Annotated[Width, "size of the vectors"] = 8,
        longest: Annotated[int, Range(1, 60), "longest recording, in seconds"] = 10,
    ) -> None:
        self.dim, self.longest = dim, longest

    def encode(self, values: Sequence[str], where: Where, role: str = "recording") -> list[Sound]:
        rows = [Sound(value, tuple(range(_frames(value)))) for value in values]
        for row, at in zip(rows, where, strict=True):
            if not 0 < len(row.frames) * FRAME <= self.longest * RATE:
                raise RegardError(f"{at}: {len(row.frames)} frames", expected=f"1 to {self.longest * RATE // FRAME}")
        return rows

    def length(self, row: Sound) -> int:
        return len(row.frames)

    def collate(self, rows: Sequence[Sound]) -> Sequences:
        padded = Sequences.pad([row.frames for row in rows])
        values = torch.zeros(*padded.values.shape, FRAME)
        for number, row in enumerate(rows):
            values[number, : len(row.frames)] = _samples(row.path)[list(row.frames)]
        return Sequences(values, padded.mask, padded.lengths)

    def embedding(self) -> Frames:
        return Frames(self.dim)

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        step = FRAME / RATE
        return [tuple(Interval(i * step, (i + 1) * step) for i in range(_frames(value))) for value in values]

    def title(self, value: str) -> str:
        return Path(value).name

    def drop(self, row: Sound, positions: Sequence[int]) -> Sound:
        return replace(row, frames=tuple(drop_positions(row.frames, positions)))

    def located(self, value: str, folder: Path) -> str:
        return str(folder / value)

    def requested(self, value: str, where: str, characters: int) -> None:
        raise RegardError(f"{where}: recordings cannot be sent", do="send something else")

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"frames": [_frames(value) for value in values]}


def _frames(path: str) -> int:
    with wave.open(path) as file:
        return file.getnframes() // FRAME


def _samples(path: str) -> torch.Tensor:
    with wave.open(path) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16)
    return torch.from_numpy(samples.astype(np.float32) / 2**15).view(-1, FRAME)


FIELD = {"name": f"{__name__}.Waves"}


@pytest.fixture(scope="module")
def sounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """High and low tones of 3 to 6 frames."""
    folder = tmp_path_factory.mktemp("sounds")
    for label, pitch in (("high", 200), ("low", 40)):
        (folder / label).mkdir()
        for number in range(24):
            time = np.arange((3 + number % 4) * FRAME) / RATE
            with wave.open(str(folder / label / f"{number}.wav"), "wb") as file:
                file.setparams((1, 2, RATE, 0, "NONE", ""))
                file.writeframes((np.sin(2 * np.pi * pitch * time + number) * 2**14).astype(np.int16).tobytes())
    return folder


@pytest.fixture(scope="module")
def run(sounds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "waves"
    regard.train(
        "classify",
        data=str(sounds),
        out=out,
        quiet=True,
        input=FIELD,
        encoder={"name": "bigru", "hidden": 8},
        pool="attention",
        train={"steps": 40, "lr": 2e-2, "ema": 0.9, "workers": 0, "threads": 1, "auto": False},
    )
    return out


def test_it_learns_and_is_looked_at(run: Path, sounds: Path) -> None:
    model = regard.load(run, trust=True)
    paths = [str(sounds / label / "3.wav") for label in ("high", "low")]
    high, low = model([(path,) for path in paths])
    assert (high.text, low.text) == ("high", "low")
    assert high.look.title == "3.wav"
    assert high.look.columns[:2] == (Interval(0.0, 0.05), Interval(0.05, 0.1))
    [short] = model.predict([(paths[0],)], drop_tokens=[((0, 1),)])
    assert len(short.look.columns) == len(high.look.columns) - 2


def test_from_the_command_line(regard: Regard, run: Path, sounds: Path, tmp_path: Path) -> None:
    given = (str(sounds / "low" / "5.wav"), str(sounds / "high" / "7.wav"))
    said = regard("predict", run, *given, "--trust", "--json")
    assert said.code == 0, said.err
    assert [json.loads(line)["text"] for line in said.out.splitlines()] == ["low", "high"]
    seen = regard("look", run, given[0], "--trust", "-o", tmp_path / "look.html")
    assert seen.code == 0, seen.err
    told = regard("data", "classify", "--data", sounds, f"input={FIELD['name']}")
    assert (told.code, "frames" in told.out) == (0, True), told.err
    measured = regard("evaluate", run, "--trust")
    assert measured.code == 0, measured.err


def test_what_a_service_says_of_it(run: Path) -> None:
    model: Any = regard.load(run, trust=True)
    assert model.roles == [{"name": "input", "kind": "waves", "noun": "a recording"}]
    with pytest.raises(RegardError, match=r"^input: recordings cannot be sent"):
        model.task.inputs["input"].requested("x", "input", 100)
