"""The image field: decoding, boxes, dropping, and what is refused."""

import base64
import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image as Pillow

from regard.errors import RegardError
from regard.fields.image import Image, decode, to_data_url
from regard.regions import Box

EMBED = {"dim": 8, "blocks": 1}


def field(size: int = 4) -> Image:
    return Image(size=size, colour=False, embed=EMBED)


def written(folder: Path, rows: list[list[int]], name: str = "one.png") -> str:
    path = folder / name
    Pillow.fromarray(np.array(rows, np.uint8)).save(path)
    return str(path)


def header_of(width: int, height: int) -> str:
    """A PNG that says it is this large and holds next to nothing."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    body = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"0"))
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body + chunk(b"IEND", b"")).decode()


def test_pixels_are_normalised_by_hand(tmp_path: Path) -> None:
    one = field()
    path = written(tmp_path, [[0, 255, 0, 255]] * 4)
    one.fit([path])
    assert (one.mean, one.std) == (0.5, 0.5)
    pixels = one.collate(one.encode([path], ["here"])).values
    assert pixels[0, 0].tolist() == [[-1.0, 1.0, -1.0, 1.0]] * 4
    again = field()
    again.restore(one.state())
    assert (again.mean, again.std) == (0.5, 0.5)


def test_a_data_url_is_the_same_as_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, [[0, 50], [100, 250]])
    url = "data:image/png;base64," + base64.b64encode(Path(path).read_bytes()).decode()
    one = field()
    rows = one.encode([path, url], ["file", "url"])
    assert (one.collate(rows[:1]).values == one.collate(rows[1:]).values).all()


def test_boxes_line_by_line() -> None:
    [boxes] = field().regions(["any"])
    assert boxes[1] == Box(0.5, 0.0, 1.0, 0.5)
    assert boxes[2] == Box(0.0, 0.5, 0.5, 1.0)


def test_a_dropped_box_is_blank(tmp_path: Path) -> None:
    one = field()
    path = written(tmp_path, [[200] * 4] * 4)
    [row] = one.encode([path], ["here"])
    pixels = one.collate([one.drop(row, [1])]).values[0, 0]
    assert (pixels[:2, 2:] == 0).all()  # the mean
    assert (pixels[2:] != 0).all()
    assert (pixels[:2, :2] != 0).all()
    assert one.remaining(one.regions([path])[0], [1]) == one.regions([path])[0]
    with pytest.raises(RegardError, match="no box 4 to drop; expected 0 to 3"):
        one.drop(row, [4])
    assert field(6).drop(row, [8]).blank == (8,)  # the last of three lines of three


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = header_of(8_000, 8_000)
    with pytest.raises(RegardError, match=r"upload: picture has 8,000 × 8,000 pixels; expected at most 40,000,000"):
        decode(bomb, "upload")
    for larger in (bomb, header_of(100_000, 100_000)):
        with pytest.raises(RegardError, match="pixels; expected at most 40,000,000 in all; use a smaller picture"):
            field().requested(larger, "input 1", 100)


def test_what_is_no_picture_is_told_with_its_place(tmp_path: Path) -> None:
    text = tmp_path / "notes.png"
    text.write_text("not a picture")
    with pytest.raises(RegardError, match=r"^train.csv:3: cannot read .*notes.png.*; expected a picture \(PNG"):
        decode(str(text), "train.csv:3")
    with pytest.raises(RegardError, match=r"^train.csv:4: no picture 'missing.png'"):
        field().encode(["missing.png"], ["train.csv:4"])
    with pytest.raises(RegardError, match="cannot read picture"):
        decode("data:image/png;base64,%%%", "")


def test_what_is_shown_is_small() -> None:
    url = to_data_url(Pillow.new("RGB", (1000, 500)))
    shown = Pillow.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))
    assert shown.size == (256, 128)


def test_it_needs_no_decoding_to_be_batched() -> None:
    one = field(size=16)
    assert one.length(one.encode(["data:image/png;base64,broken"], ["here"])[0]) == 64


def saved(folder: Path, picture: Pillow.Image, name: str, **how: Any) -> str:
    picture.save(folder / name, **how)
    return str(folder / name)


def mean(path: str) -> list[int]:
    """The mean colour."""
    picture = decode(path, "")
    assert picture.mode == "RGB"
    return [round(one) for one in np.asarray(picture, float).mean((0, 1)).tolist()]


def test_forms_that_people_have(tmp_path: Path) -> None:
    red = Pillow.new("RGB", (8, 8), (200, 0, 0))
    grey16 = Pillow.fromarray(np.full((8, 8), 100 * 257, np.uint16))
    assert mean(saved(tmp_path, grey16, "deep.png")) == [100] * 3  # 16 bits
    assert mean(saved(tmp_path, red.convert("CMYK"), "print.jpg")) == pytest.approx([200, 0, 0], abs=3)
    assert mean(saved(tmp_path, red.convert("P"), "palette.gif")) == pytest.approx([200, 0, 0], abs=5)
    assert mean(saved(tmp_path, red.convert("1"), "bits.png"))[0] in range(256)
    half = Pillow.new("RGBA", (8, 8), (200, 0, 0, 0))
    assert mean(saved(tmp_path, half, "clear.png")) == [255] * 3
    frames = [Pillow.new("RGB", (8, 8), colour) for colour in ("blue", "red")]
    assert mean(saved(tmp_path, frames[0], "moving.gif", save_all=True, append_images=frames[1:])) == [0, 0, 255]
    assert mean(saved(tmp_path, red, "small.webp", lossless=True)) == [200, 0, 0]


def test_a_photograph_is_turned_upright(tmp_path: Path) -> None:
    """Orientation 6: the camera was turned, so the first row of the file is the right edge."""
    picture = Pillow.new("RGB", (40, 20), "black")
    picture.paste("white", (0, 0, 20, 20))
    exif = Pillow.Exif()
    exif[0x0112] = 6
    turned = decode(saved(tmp_path, picture, "turned.jpg", exif=exif, quality=95), "")
    assert turned.size == (20, 40)
    assert turned.getpixel((10, 5))[0] > 250
    assert turned.getpixel((10, 35))[0] < 5
    broken = saved(tmp_path, picture, "broken.jpg", exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff")
    assert decode(broken, "").size == (40, 20)


def test_bad_files_are_told_by_name(tmp_path: Path) -> None:
    noise = Pillow.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))
    for name in ("cut.jpg", "cut.png", "cut.gif", "cut.webp", "cut.bmp"):
        path = Path(saved(tmp_path, noise, name))
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(RegardError, match=rf"^c.csv:2: cannot read '.*{name}' \(.*\); expected a picture"):
            decode(str(path), "c.csv:2")
    (tmp_path / "empty.jpg").touch()
    with pytest.raises(RegardError, match=r"cannot read '.*empty.jpg' \(it is empty\)"):
        decode(str(tmp_path / "empty.jpg"), "")
    (tmp_path / "text.jpg").write_text("a text, whatever its name says")
    with pytest.raises(RegardError, match=r"cannot read '.*text.jpg' \(cannot identify image file\)"):
        decode(str(tmp_path / "text.jpg"), "")
    (tmp_path / "folder.jpg").mkdir()
    with pytest.raises(RegardError, match=r"cannot read '.*folder.jpg'"):
        decode(str(tmp_path / "folder.jpg"), "")
    with pytest.raises(RegardError, match=r"10,000 × 10,000 pixels; expected at most"):
        decode(header_of(10_000, 10_000), "")  # of which Pillow only warns


def test_statistics_are_of_what_can_be_read(tmp_path: Path) -> None:
    """One bad picture among many is told when its turn comes, with its own place."""
    one, good, bad = field(), written(tmp_path, [[0, 255] * 2] * 4), str(tmp_path / "bad.png")
    Path(bad).write_text("no picture")
    one.fit([bad, good])
    assert (one.mean, one.std) == (0.5, 0.5)
    with pytest.raises(RegardError, match=r"^c.csv:3: cannot read '.*bad.png'"):
        one.collate(one.encode([good, bad], ["c.csv:2", "c.csv:3"]))
    with pytest.raises(RegardError, match=r"^cannot read '.*bad.png'"):
        field().fit([bad, bad])


def test_a_batch_has_its_pictures_in_order(tmp_path: Path) -> None:
    """Kept ones and new ones, some of them several times."""
    one = field()
    paths = [written(tmp_path, [[level] * 4] * 4, f"{level}.png") for level in (0, 100, 200)]
    rows = one.encode([paths[n] for n in (2, 0, 1, 0)], ["here"] * 4)
    for asked in ([1], [2, 0, 3], [0, 1, 2, 3], [3, 3]):
        found = one.collate([rows[n] for n in asked]).values[:, 0, 0, 0] * one.std + one.mean
        assert (found * 255).round().tolist() == [[200, 0, 100, 0][n] for n in asked]


def test_small_pictures_are_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And with a part left out the others stay as they were."""
    one = field()
    path = Path(written(tmp_path, [[0, 255, 0, 255]] * 4))
    [row] = one.encode([str(path)], ["here"])
    before = one.collate([row]).values
    blank = one.collate([one.drop(row, [0])]).values
    path.unlink()
    assert torch.equal(one.collate([row]).values, before)
    assert not torch.equal(blank, before)
    monkeypatch.setattr("regard.fields.image.KEPT", 15)
    path = Path(written(tmp_path, [[0, 255, 0, 255]] * 4))
    [row] = one.encode([str(path)], ["here"])
    assert torch.equal(one.collate([row]).values, before)
    path.unlink()
    with pytest.raises(RegardError, match="here: cannot read"):
        one.collate([row])
