"""Pictures in arrays: idx files and .npz; what is wrong with one is one line with its name."""

import gzip
import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.data import arrays
from regard.data.arrays import read_arrays
from regard.data.load import load
from regard.errors import RegardError
from regard.fields.image import Image, decode
from regard.fields.label import Label
from regard.reading import pieces

pictures = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def mnist(folder: Path, part: str, packed: bool = False) -> None:
    labels = np.array([7, 0, 7], np.uint8)
    for name, array in (("images-idx3", pictures), ("labels-idx1", labels)):
        data = idx(array)
        path = folder / f"{part}-{name}-ubyte{'.gz' * packed}"
        path.write_bytes(gzip.compress(data) if packed else data)


def pixels(url: str, colour: bool = False) -> Any:
    picture = decode(url, "")
    return np.asarray(picture if colour else picture.convert("L"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_folder_of_idx_files(tmp_path: Path, packed: bool) -> None:
    mnist(tmp_path, "train", packed)
    mnist(tmp_path, "t10k", packed)
    splits = load("", (Image(size=8, colour=False), Label()), (), train=str(tmp_path))
    assert [one.target for one in splits.test] == ["7", "0", "7"]
    assert splits.train  # a part of it becomes valid
    np.testing.assert_array_equal(pixels(splits.test[1].inputs[0]), pictures[1])
    assert splits.test[2].where.endswith(f"t10k-images-idx3-ubyte{'.gz' * packed}, picture 3")


def test_one_idx_file(tmp_path: Path) -> None:
    mnist(tmp_path, "train")
    found = read_arrays(str(tmp_path / "train-images-idx3-ubyte"))
    assert found is not None
    assert {part: len(some) for part, some in found.items()} == {"train": 3}


def test_other_files_are_left_to_other_readers(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tb\n")
    assert read_arrays(str(tmp_path)) is None
    assert read_arrays(str(tmp_path / "train.tsv")) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:30], "14 bytes; expected 60, as its header says"),
        (lambda data: b"\0\0\x0d\x03" + data[4:], "not an idx file"),
        (lambda data: b"", "not an idx file"),
    ],
)
def test_a_broken_idx_file(tmp_path: Path, change: Any, said: str) -> None:
    mnist(tmp_path, "train")
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(RegardError, match=said) as error:
        read_arrays(str(tmp_path))
    assert str(path) in str(error.value)


def test_missing_labels(tmp_path: Path) -> None:
    mnist(tmp_path, "train")
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(RegardError, match="train-labels-idx1-ubyte: no such file"):
        read_arrays(str(tmp_path))


def saved(path: Path, **given: Any) -> str:
    np.savez_compressed(path, **given)
    return str(path)


def test_npz(tmp_path: Path) -> None:
    """Square pictures may be rows; shades may end at 1."""
    rows = np.linspace(0, 1, 32, dtype=np.float32).reshape(2, 16)
    path = saved(tmp_path / "a.npz", X_train=rows, y_train=[[1], [2]], test_images=pictures, test_labels=[1, 2, 1])
    found = read_arrays(path)
    assert found is not None
    assert [one.target for one in found["train"]] == ["1", "2"]
    assert pixels(found["train"][1].inputs[0])[-1].tolist() == [230, 239, 247, 255]
    np.testing.assert_array_equal(pixels(found["test"][0].inputs[0]), pictures[0])


def test_coloured_npz(tmp_path: Path) -> None:
    colour = np.zeros((2, 4, 4, 3), np.uint8)
    colour[..., 1] = 200
    found = read_arrays(saved(tmp_path / "a.npz", x=colour, y=[0, 1]))
    assert found is not None
    assert pixels(found["train"][0].inputs[0], colour=True)[0, 0].tolist() == [0, 200, 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": [1]}, "no pictures and labels to train on; expected X_train and y_train; it has a"),
        ({"x": pictures, "y": [1, 2]}, "3 pictures; expected as many as labels, 2"),
        ({"x": pictures[..., None], "y": [1, 2, 3]}, "pictures of shape"),
        ({"x": pictures - 1.0, "y": [1, 2, 3]}, "pixels outside 0 to 255"),
        ({"x": pictures, "y": [1, 2, 0.5]}, "labels that are not whole numbers"),
        ({"x": pictures, "y": ["a", "b", "c"]}, "y is of type <U1; expected numbers"),
    ],
)
def test_npz_that_does_not_fit(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    path = saved(tmp_path / "a.npz", **given)
    with pytest.raises(RegardError, match=said) as error:
        read_arrays(path)
    assert path in str(error.value)


def test_npz_with_objects_is_never_unpickled(tmp_path: Path) -> None:
    class Canary:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "ran",))

    path = saved(tmp_path / "a.npz", x=np.array([Canary()], dtype=object), y=[1])
    with pytest.raises(RegardError, match="x is of type object; expected numbers"):
        read_arrays(path)
    assert not (tmp_path / "ran").exists()


def test_an_array_that_claims_to_be_huge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_BYTES", 50)
    with pytest.raises(RegardError, match="x has 60 bytes; expected at most 50"):
        read_arrays(saved(tmp_path / "a.npz", x=pictures, y=[1, 2, 3]))


@pytest.mark.parametrize("size", [0, 10, 400])
def test_a_broken_npz(tmp_path: Path, size: int) -> None:
    path = Path(saved(tmp_path / "a.npz", x=pictures, y=[1, 2, 3]))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(RegardError, match=r"not an \.npz file that can be read"):
        read_arrays(str(path))


def test_an_npz_whose_member_is_no_array(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x.npy", b"not an array")
    (tmp_path / "a.npz").write_bytes(out.getvalue())
    with pytest.raises(RegardError, match=r"not an \.npz file that can be read"):
        read_arrays(str(tmp_path / "a.npz"))


def test_no_more_of_an_idx_file_is_read_than_its_header_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mnist(tmp_path, "train")
    path, read = tmp_path / "train-images-idx3-ubyte", 0
    with path.open("r+b") as file:
        file.truncate(1 << 34)  # takes no room on the disk, and would take 16 GiB of memory

    def counting(*given: Any) -> Any:
        nonlocal read
        for data in pieces(*given):
            read += len(data)
            yield data

    monkeypatch.setattr(arrays, "pieces", counting)
    with pytest.raises(RegardError, match=r"more than .* bytes; expected 60, as its header says"):
        read_arrays(str(path))
    assert read < 2 << 20
    path.write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", 1 << 31, 1 << 10, 1 << 10) + bytes(9))
    with pytest.raises(RegardError, match="pixels, says its header; expected at most"):
        read_arrays(str(path))


def test_a_bomb_in_an_npz_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, X_train=np.zeros((9_000, 28, 28), np.uint8), y_train=np.zeros(9_000, np.uint8))
    with pytest.raises(RegardError, match="X_train decompresses to more than 30 times its size; expected pictures"):
        read_arrays(str(path))


def test_the_same_array_twice(tmp_path: Path) -> None:
    path = tmp_path / "twice.npz"
    np.savez(path, X_train=pictures, y_train=np.zeros(3, np.uint8), train_images=pictures)
    with pytest.raises(RegardError, match="pictures for train twice"):
        read_arrays(str(path))
