"""Pictures from the command line: a folder for each label → data, train, evaluate, predict, look."""

from pathlib import Path

import numpy as np
import pytest
from command_line import Regard
from PIL import Image

from regard.cli.main import answer

small = [
    *("input=image", "input.size=16", "input.embed.dim=8", "input.embed.blocks=1", "encoder=identity"),
    *("pool=attention", "dropout=0.0", "train.device=cpu", "train.workers=0", "train.auto=false"),
    *("train.steps=12", "train.batch_size=8", "train.batch_tokens=0", "train.lr=0.02", "train.warmup=2"),
]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bright bar on the left or on the right of a dark picture."""
    top, chance = tmp_path_factory.mktemp("photos"), np.random.default_rng(1)
    for label, place in (("left", 0), ("right", 8)):
        (top / label).mkdir()
        for number in range(30):
            pixels = chance.integers(0, 60, (16, 16, 3), dtype=np.uint8)
            pixels[:, place : place + 8] += 180
            Image.fromarray(pixels).save(top / label / f"{number}.png")
    return top


@pytest.fixture(scope="module")
def trained(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The run and what its training printed."""
    folder = tmp_path_factory.mktemp("runs") / "photos"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder.parent)
        import contextlib
        import io

        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert answer(["train", "classify", "--data", str(photos), "--out", str(folder), *small]) == 0
    return folder, said.getvalue()


def test_the_ending_names_the_picture(trained: tuple[Path, str]) -> None:
    """Not its bytes, and not its whole path."""
    line = next(line for line in trained[1].splitlines() if " → " in line)
    assert line.split(" → ")[0].endswith(".png")
    assert "/" not in line.split(" → ")[0]


def test_data_predict_and_evaluate(trained: tuple[Path, str], photos: Path, regard: Regard) -> None:
    assert "pixels wide" in regard("data", "classify", "--data", photos, "input=image").out
    said = regard("predict", trained[0], photos / "left" / "0.png", photos / "right" / "0.png").out
    assert said.splitlines() == ["left", "right"]
    assert "accuracy" in regard("evaluate", trained[0]).out


@pytest.mark.parametrize("suffix", ["", ".png", ".html", ".json"])
def test_weights_over_the_picture(
    trained: tuple[Path, str], photos: Path, regard: Regard, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"look{suffix}"
    said = regard("look", trained[0], photos / "left" / "0.png", *(["-o", out] if suffix else [])).out
    assert said.startswith(("0.png → left", f"{photos}/left/0.png → left"))
    assert out.stat().st_size > 500 if suffix else "picture" in said


def test_a_picture_that_is_none(trained: tuple[Path, str], regard: Regard, tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("not a picture")
    said = regard("predict", trained[0], tmp_path / "text.jpg")
    assert said.code == 3
    assert "text.jpg" in said.err


def test_smooth_weights_and_an_animation(
    trained: tuple[Path, str], photos: Path, regard: Regard, tmp_path: Path
) -> None:
    shot = photos / "left" / "0.png"
    assert regard("look", trained[0], shot, "-o", tmp_path / "look.gif", "--smooth").code == 0
    assert (tmp_path / "look.gif").read_bytes().startswith(b"GIF89a")
    said = regard("look", trained[0], shot, "-o", tmp_path / "look.html", "--smooth")
    assert "--smooth without a picture" in said.line()
