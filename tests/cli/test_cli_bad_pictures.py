"""Pictures that people have and should not have, through the command line: an answer, or one line with the file's name.

Never a traceback, and nothing keeps anybody waiting.
"""

import contextlib
import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Regard
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from regard.cli.main import answer

small = [
    *("input=image", "input.size=8", "input.embed.dim=8", "input.embed.blocks=1", "encoder=identity"),
    *("pool=attention", "dropout=0.0", "train.device=cpu", "train.workers=0", "train.auto=false"),
    *("train.steps=2", "train.batch_size=4", "train.batch_tokens=0", "train.validate_every=2"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top, chance = tmp_path_factory.mktemp("bad"), np.random.default_rng(1)
    for label in ("left", "right"):
        (top / "photos" / label).mkdir(parents=True)
        for number in range(10):
            noise(chance).save(top / "photos" / label / f"{number}.png")
    with contextlib.redirect_stdout(io.StringIO()):
        assert answer(["train", "classify", "--data", str(top / "photos"), "--out", str(top / "run"), *small]) == 0
    return top / "run"


def noise(chance: Any = None, size: tuple[int, int] = (64, 64)) -> Image.Image:
    chance = chance or np.random.default_rng(2)
    return Image.fromarray(chance.integers(0, 256, (*size, 3), np.uint8))


def saved(**how: Any) -> Callable[[Path], None]:
    return lambda path: noise().save(path, **how)


def turned(path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    noise().save(path, exif=exif)


def large_exif(path: Path) -> None:
    """As much as a JPEG can hold beside its pixels, and none of it makes sense."""
    noise().save(path, exif=b"Exif\x00\x00MM\x00*" + b"\xff" * 65_000)


def profiled(path: Path) -> None:
    """A colour profile of two megabytes that is none."""
    noise().save(path, icc_profile=b"not a profile " * 150_000)


def commented(path: Path) -> None:
    """A few bytes of a comment that unpack to 40 MB."""
    info = PngInfo()
    info.add_text("comment", "a" * 40_000_000, zip=True)
    noise().save(path, pnginfo=info)


def moving(path: Path) -> None:
    noise().save(path, save_all=True, append_images=[noise(), noise(size=(64, 64))])


def cut(share: float, **how: Any) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        noise().save(path, **how)
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])

    return make


def bomb(path: Path) -> None:
    """A PNG of 50,000 × 50,000 pixels in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)


good: dict[str, Callable[[Path], Any]] = {
    "cmyk.jpg": lambda path: noise().convert("CMYK").save(path),
    "sixteen.png": lambda path: Image.fromarray(np.full((8, 8), 40_000, np.uint16)).save(path),
    "palette.gif": lambda path: noise().convert("P").save(path),
    "palette.png": lambda path: noise().convert("P").save(path, transparency=3),
    "turned.jpg": turned,
    "moving.gif": moving,
    "moving.webp": moving,
    "one.png": lambda path: noise(size=(1, 1)).save(path),
    "line.png": lambda path: noise(size=(1, 10_000)).save(path),
    "column.jpg": lambda path: noise(size=(10_000, 1)).save(path),
    "progressive.jpg": saved(progressive=True),
    "exif.jpg": large_exif,
    "profile.jpg": profiled,
    "wrong_name.png": saved(format="JPEG"),
    "bits.png": lambda path: noise().convert("1").save(path),
    "clear.png": lambda path: noise().convert("RGBA").save(path),
    "grey.png": lambda path: noise().convert("LA").save(path),
}
bad: dict[str, Callable[[Path], Any]] = {
    "cut.jpg": cut(0.5),
    "cut.png": cut(0.5),
    "cut.gif": cut(0.5),
    "cut_progressive.jpg": cut(0.5, progressive=True),
    "header.jpg": cut(0.02),
    "profile.png": profiled,  # packed, it could be a bomb
    "comment.png": commented,
    "empty.jpg": Path.touch,
    "bomb.png": bomb,
    "text.jpg": lambda path: path.write_text("a text, whatever its name says"),
    "vector.png": lambda path: path.write_text("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"),
    "zeros.jpg": lambda path: path.write_bytes(bytes(10_000)),
    "device.jpg": lambda path: path.symlink_to("/dev/zero"),
    "pipe.jpg": os.mkfifo,
    "loop.jpg": lambda path: path.symlink_to(path),
    "nowhere.jpg": lambda path: path.symlink_to(path.parent / "not there"),
    "folder.jpg": Path.mkdir,
}


@pytest.mark.parametrize("name", good)
def test_what_can_be_read_is_answered(name: str, run: Path, regard: Regard, tmp_path: Path) -> None:
    good[name](tmp_path / name)
    said = regard("predict", run, tmp_path / name)
    assert said.code == 0, said
    assert said.out.strip() in ("left", "right")


@pytest.mark.parametrize("name", bad)
def test_what_cannot_is_told_in_a_line_with_its_name(name: str, run: Path, regard: Regard, tmp_path: Path) -> None:
    bad[name](tmp_path / name)
    said = regard("predict", run, tmp_path / name)
    assert said.code in (2, 3), said
    [line] = [line for line in said.err.splitlines() if name in line]
    assert len(line) < 1_000
    assert "Traceback" not in said.err + said.out


def test_a_folder_with_all_of_them(run: Path, regard: Regard, tmp_path: Path) -> None:
    """Training names the one that cannot be read; what is no file is not even looked at."""
    for label in ("left", "right"):
        (tmp_path / label).mkdir()
        for number in range(4):
            noise().save(tmp_path / label / f"{number}.png")
    os.mkfifo(tmp_path / "left" / "pipe.jpg")
    (tmp_path / "left" / "device.jpg").symlink_to("/dev/zero")
    assert regard("data", "classify", "--data", tmp_path, "input=image").code == 0
    cut(0.5)(tmp_path / "right" / "broken.jpg")
    said = regard("train", "classify", "--data", tmp_path, "--out", tmp_path / "run", *small)
    assert said.code == 2
    assert "broken.jpg" in said.err.splitlines()[-1]
