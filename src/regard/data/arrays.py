"""Pictures in arrays: the idx files of MNIST, and `.npz` files of NumPy.

mnist/train-images-idx3-ubyte.gz, mnist/train-labels-idx1-ubyte.gz, mnist/t10k-images-…   # a folder
digits.npz with X_train, y_train, X_valid, y_valid, X_test, y_test                        # one file

idx is the format of LeCun, Cortes & Burges, "The MNIST Database of Handwritten Digits": two zero bytes, the type, the
number of axes, the size of each axis in four bytes, then the numbers. In an `.npz`, pictures are [n, h, w],
[n, h, w, 3] or, if they are square, [n, h · w], with numbers up to 1 or up to 255. Each picture becomes a data URL.
Nothing is unpickled.

    read_arrays("mnist")        # {"train": […], "test": […]}, or None if it is something else
"""

import math
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from regard.errors import RegardError
from regard.fields.image import png_url
from regard.reading import open_file, pieces, ratio, unpacked
from regard.types import Example

__all__ = ["read_arrays"]

MOST_BYTES = 1 << 29  # of one array in an .npz, whose numbers may grow when they become pixels
MOST_PIXELS = 1 << 30  # of an idx file; MNIST has 47 million, EMNIST 547 million
PARTS = {"train": "train", "valid": "valid", "val": "valid", "dev": "valid", "test": "test", "t10k": "test"}
PICTURES, LABELS = ("x", "images", "data"), ("y", "labels", "targets")
IDX = re.compile(r"(?P<part>[a-z0-9]+)-images[-.]idx3-ubyte(?P<gz>\.gz)?")


def read_arrays(spec: str) -> dict[str, list[Example]] | None:
    """The examples by part, of a folder of idx files, one of these files, or an `.npz`; None of anything else."""
    path = Path(os.path.expanduser(spec))
    if path.suffix.lower() == ".npz":
        return _npz(spec)
    if path.is_dir():
        found = {name: IDX.fullmatch(name) for name in sorted(os.listdir(path))}
        return {
            PARTS[match["part"]]: _idx(str(path / name)) for name, match in found.items() if match and _known(match)
        } or None
    return {"train": _idx(spec)} if IDX.fullmatch(path.name) else None


def _known(match: re.Match[str]) -> bool:
    return match["part"] in PARTS


def _idx(path: str) -> list[Example]:
    """The pictures of a file, with the labels of the file beside it."""
    folder, name = os.path.split(path)
    labels = str(Path(folder) / name.replace("images", "labels").replace("idx3", "idx1"))
    return _examples(_idx_array(path, 3), _idx_array(labels, 1), path)


def _idx_array(path: str, axes: int) -> Any:
    data, head = bytearray(), 4 + 4 * axes
    for some in pieces(path, path.endswith(".gz")):
        data += some
        if len(data) >= head:
            shape = struct.unpack_from(f">{axes}I", data, 4)
            if data[:4] != bytes([0, 0, 8, axes]) or len(data) - head > min(math.prod(shape), MOST_PIXELS):
                break  # all that the header tells is here, or more than anybody has
    if len(data) < head or data[:4] != bytes([0, 0, 8, axes]):
        raise RegardError(
            f"{path}: not an idx file", expected=f"bytes in {axes} ax{'es' if axes > 1 else 'is'}, as MNIST"
        )
    if math.prod(shape) > MOST_PIXELS:
        raise RegardError(f"{path}: {math.prod(shape):,} pixels, says its header", expected=f"at most {MOST_PIXELS:,}")
    if math.prod(shape) != len(data) - head:
        more = "more than " * (len(data) - head > math.prod(shape))
        raise RegardError(
            f"{path}: {more}{len(data) - head:,} bytes", expected=f"{math.prod(shape):,}, as its header says"
        )
    return np.frombuffer(data, np.uint8, offset=head).reshape(shape)


def _npz(path: str) -> dict[str, list[Example]]:
    parts: dict[str, dict[str, Any]] = {}
    try:
        with open_file(path) as file, zipfile.ZipFile(file) as archive:
            names = [info.filename.removesuffix(".npy") for info in archive.infolist()]
            for name in names:
                kind, part = _named(name)
                if kind and kind in parts.get(part, ()):
                    raise RegardError(
                        f"{path}: {kind} for {part} twice", expected="one array of each", do=f"remove {name}"
                    )
                if kind:
                    parts.setdefault(part, {})[kind] = _array(archive, name, path)
    except RegardError:
        raise
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise RegardError(f"{path}: not an .npz file that can be read ({error!s:.100})") from None
    found = {part: _examples(some["pictures"], some["labels"], path) for part, some in parts.items() if len(some) == 2}
    if "train" not in found:
        listed = ", ".join(names[:10]) or "nothing"
        raise RegardError(
            f"{path}: no pictures and labels to train on", expected="X_train and y_train", do=f"it has {listed}"
        )
    return found


def _named(name: str) -> tuple[str, str]:
    """What an array is, by its name, and of which part: X_train, train_images, y."""
    words = name.lower().split("_")
    kinds = ["pictures" if word in PICTURES else "labels" for word in words if word in (*PICTURES, *LABELS)]
    parts = [PARTS[word] for word in words if word in PARTS] or ["train"]
    return (kinds[0], parts[0]) if len(kinds) == 1 and len(parts) == 1 else ("", "")


def _array(archive: zipfile.ZipFile, name: str, path: str) -> Any:
    """An array of numbers, whose size is read before its content."""
    info = archive.getinfo(f"{name}.npy")
    if info.file_size > max(unpacked, ratio * info.compress_size):
        raise RegardError(
            f"{path}: {name} decompresses to more than {ratio} times its size",
            expected="pictures",
            do="if you trust the file, save it with numpy.savez, which does not compress",
        )
    with archive.open(f"{name}.npy") as member:
        version = npy.read_magic(member)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = read_header(member)
    if kind.kind not in "buif":
        raise RegardError(f"{path}: {name} is of type {kind}", expected="numbers")
    if math.prod(shape) * kind.itemsize > MOST_BYTES:
        raise RegardError(
            f"{path}: {name} has {math.prod(shape) * kind.itemsize:,} bytes", expected=f"at most {MOST_BYTES:,}"
        )
    with archive.open(f"{name}.npy") as member:
        return npy.read_array(member)


def _examples(pictures: Any, labels: Any, path: str) -> list[Example]:
    labels = labels.reshape(-1)
    if len(pictures) != len(labels):
        raise RegardError(f"{path}: {len(pictures):,} pictures", expected=f"as many as labels, {len(labels):,}")
    pixels, whole = _bytes(pictures, path), labels.astype(np.int64)
    if (whole != labels).any():
        raise RegardError(f"{path}: labels that are not whole numbers", expected="a number for each class")
    rows = zip(pixels, whole.tolist(), strict=True)
    return [Example((_url(one),), str(label), f"{path}, picture {n}") for n, (one, label) in enumerate(rows, 1)]


def _bytes(pictures: Any, path: str) -> Any:
    """Pixels as bytes, [n, h, w] or [n, h, w, 3]."""
    if pictures.ndim == 2:
        side = math.isqrt(pictures.shape[1])
        if side * side == pictures.shape[1]:
            pictures = pictures.reshape(-1, side, side)
    if pictures.ndim not in (3, 4) or pictures.shape[3:] not in ((), (3,)) or 0 in pictures.shape:
        raise RegardError(f"{path}: pictures of shape {list(pictures.shape)}", expected="[n, h, w] or [n, h, w, 3]")
    if pictures.dtype == np.uint8:
        return pictures
    if not np.isfinite(pictures).all() or pictures.min() < 0 or pictures.max() > 255:
        raise RegardError(f"{path}: pixels outside 0 to 255", expected="numbers from 0 to 1 or from 0 to 255")
    return (pictures * (255 if pictures.max() <= 1 else 1) + 0.5).astype(np.uint8)


def _url(pixels: Any) -> str:
    from PIL import Image

    return png_url(Image.fromarray(pixels), compress_level=1)
