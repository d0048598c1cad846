"""Values in files of their own: what pictures and recordings have in common."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from regard.errors import RegardError
from regard.fields._in_file import InFile, is_url, readable, url_bytes
from regard.fields.audio import Audio, wav_url
from regard.fields.image import Image, to_data_url

PICTURE, SOUND = to_data_url(Pillow.new("L", (8, 8), 9)), wav_url(np.zeros(800, np.float32), 8_000)
EACH = pytest.mark.parametrize(
    ("field", "value", "other"), [(Image(size=8), PICTURE, SOUND), (Audio(rate=8_000), SOUND, PICTURE)]
)


@EACH
def test_a_request_holds_the_value_itself(field: InFile, value: str, other: str) -> None:
    field.requested(value, "input", 10)  # the longest text has nothing to do with it
    for wrong in ("a.png", "a.wav", "/etc/passwd", other):
        with pytest.raises(
            RegardError, match=rf"^input: not {field.noun}; expected a data URL, as data:{field.media}/"
        ):
            field.requested(wrong, "input", 10)
    with pytest.raises(RegardError, match=rf"^input: {field.noun} of more than {field.most_bytes:,} bytes; send a"):
        field.requested(value + "A" * field.request_bytes, "input", 10)
    with pytest.raises(RegardError, match=r"^input: cannot read"):
        field.requested(value.partition(",")[0] + ",AAAA", "input", 10)


@EACH
def test_paths_are_those_of_the_data_file(field: InFile, value: str, other: str, tmp_path: Path) -> None:
    assert (field.located("a/b.x", tmp_path), field.title("a/b.x")) == (str(tmp_path / "a/b.x"), "b.x")
    assert field.located("/a.x", tmp_path) == "/a.x"
    assert (field.located(value, tmp_path), field.title(value)) == (value, field.thing)
    with pytest.raises(RegardError, match=rf"^t.tsv:3: no {field.thing} 'a\.x'; expected a file \({field.suffixes[0]}"):
        field.found(["a.x"], ["t.tsv:3"])


@EACH
def test_what_is_dropped_keeps_its_place(field: InFile, value: str, other: str) -> None:
    [row], [regions] = field.encode([value], ["x"]), field.regions([value])
    assert field.remaining(regions, [0]) == regions
    assert field.length(field.drop(row, [0])) == len(regions)
    with pytest.raises(RegardError, match=rf"{len(regions)} to drop; expected 0 to {len(regions) - 1}$"):
        field.drop(row, [len(regions)])


def test_python_objects_are_values() -> None:
    assert is_url(Image(size=8).given(Pillow.new("CMYK", (4, 4)), "row 1"))
    assert is_url(Audio(rate=8_000).given({"array": [0.0] * 80, "sampling_rate": 8_000}, "row 1"))
    assert Image(size=8).given(Path("a.png"), "row 1") == "a.png"
    with pytest.raises(RegardError, match=r"^row 1 is 3; expected the path of a picture, or a PIL image$"):
        Image(size=8).given(3, "row 1")
    with pytest.raises(RegardError, match=r"the path of a recording, or a mapping with array and sampling_rate$"):
        Audio(rate=8_000).given([0.0], "row 1")


def test_what_cannot_be_read_is_left_out_unless_it_is_all() -> None:
    def read(value: str) -> int:
        if not value.isdigit():
            raise RegardError(f"not a number: {value}")
        return int(value)

    assert list(readable(["x", "1", "y", "2"], read)) == [1, 2]
    with pytest.raises(RegardError, match=r"^not a number: x$"):
        list(readable(["x", "y"], read))


def test_a_data_url_has_room_for_its_bytes() -> None:
    assert len(PICTURE) <= url_bytes(len(PICTURE) * 3 // 4)
