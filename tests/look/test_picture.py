"""A picture as a data URL: what is given is what is seen, and what is too large or none is told in a line."""

import base64
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard.errors import RegardError
from regard.look import picture
from regard.look.picture import is_picture, to_picture, to_url


def pixels(url: str) -> list[list[list[int]]]:
    return np.asarray(to_picture(url)).tolist()


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        (np.array([[0, 7]], dtype=np.uint8), [[[0] * 3, [7] * 3]]),
        (np.array([[0.0, 0.2]]), [[[0] * 3, [51] * 3]]),  # up to 1: 0.2 of 255
        (np.array([[4, 16]]), [[[64] * 3, [255] * 3]]),  # beyond it the largest is white: 255 / 4
        (np.array([[[1.0, 0.0, 0.2]]]), [[[255, 0, 51]]]),
        (Image.new("L", (1, 1), 9), [[[9] * 3]]),
        (Image.new("P", (1, 1)), [[[0] * 3]]),
    ],
)
def test_arrays_and_images_by_hand(given: object, seen: list[list[list[int]]]) -> None:
    url = to_url(given)
    assert is_picture(url)
    assert pixels(url) == seen
    assert to_url(url) == url


def test_a_file_and_a_large_one(tmp_path: Path) -> None:
    Image.new("RGB", (2048, 1024), "red").save(tmp_path / "red.bmp")
    for path in (tmp_path / "red.bmp", str(tmp_path / "red.bmp")):
        found = to_picture(to_url(path))
        assert (found.size, found.getpixel((5, 5))) == ((1024, 512), (255, 0, 0))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nowhere.png", "'nowhere.png': cannot be read as a picture"),
        (np.zeros((2, 2, 4)), "a picture of shape [2, 2, 4]"),
        (np.zeros((0, 2)), "a picture of shape [0, 2]"),
        (np.array([[-1.0]]), "values below 0"),
        (np.array([[np.nan]]), "not a number"),
        (7, "a picture of type int; expected a path, a PIL image or an array"),
    ],
)
def test_what_is_no_picture(given: object, said: str) -> None:
    with pytest.raises(RegardError) as caught:
        to_url(given)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "cat.png",
        "data:image/png;base64,A",
        "data:image/png;base64," + base64.b64encode(b"<script>alert(1)</script>").decode(),
        to_url(np.zeros((8, 8)))[:70],
    ],
)
def test_a_url_that_holds_none(url: str) -> None:
    with pytest.raises(RegardError, match="picture"):
        to_picture(url)


def test_more_pixels_than_can_be_borne(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = to_url(np.zeros((4, 5)))
    monkeypatch.setattr(picture, "most_pixels", 19)
    with pytest.raises(RegardError, match="5 × 4 pixels; expected at most 19"):
        to_picture(url)
