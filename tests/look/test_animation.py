"""The animated GIF: a frame for each word, the darkest where the weight is; and only over a picture."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageSequence
from test_attention_map import in_picture, map_of

from regard.errors import RegardError
from regard.look.animation import animation


def frames(data: bytes) -> list[np.ndarray]:
    with Image.open(BytesIO(data)) as picture:
        return [np.asarray(one.convert("RGB"), float) for one in ImageSequence.Iterator(picture)]


def test_a_frame_for_each_word_and_it_is_bold(tmp_path) -> None:
    path = in_picture(("cat", "dog", "on a mat")).save(tmp_path / "cat.gif")
    seen = frames(path.read_bytes())
    assert len(seen) == 3
    assert len({one.shape for one in seen}) == 1
    # All three have the same weights: what differs is the line of words.
    high, wide = seen[0].shape[:2]
    changed = np.abs(seen[0] - seen[1]).max(-1) > 60
    assert changed.any()
    assert not changed[: high // 2].any()
    # The quarter at the bottom right, black, is under the largest weight: orange.
    orange = seen[0][int(0.6 * high), int(0.75 * wide)]
    assert orange[0] > orange[2] + 100
    with Image.open(path) as picture:
        assert picture.info["loop"] == 0
        assert picture.info["duration"] == 700


def test_only_over_a_picture(tmp_path) -> None:
    with pytest.raises(RegardError, match="not over a picture"):
        map_of(("a",), ("b",)).save(tmp_path / "no.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["$x$", "<b>", "\u202e", "word" * 200, ""])
def test_hostile_words(name: str) -> None:
    assert len(frames(animation(in_picture((name, "dog"))))) == 2
