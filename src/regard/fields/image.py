"""Image: a picture, given as the path of a file or as a data URL, and decoded when a batch needs it.

Pictures are resized to `size` × `size` pixels, whatever their shape, and normalised by the mean and the standard
deviation of the training set. They are turned upright as their EXIF data says; 16 bits are scaled to 8, transparent
parts are white, and of an animation the first picture is taken. A convolutional network (`embed`) turns each into a
grid of vectors, one for each box of `regions`.

    field = Image(size=32);  field.fit(paths);  field.collate(field.encode(paths, where)).values    # [batch, 3, 32, 32]
"""

import base64
import binascii
import io
import math
import os
import struct
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, UInt8

from regard.errors import RegardError
from regard.fields import Profile, Where
from regard.fields._in_file import InFile, is_url, readable, url_bytes
from regard.fields.embed import Embedding
from regard.fields.embed.convolutions import Convolutions
from regard.find import PLAIN, Of, Spec, call, table
from regard.ranges import Range, ranged
from regard.regions import Box, Region
from regard.types import Pixels

__all__ = ["Image", "decode", "png_url", "to_data_url"]

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")
MOST_BYTES, MOST_PIXELS = 20_000_000, 40_000_000  # a small file may unpack to gigabytes of pixels
REQUEST_BYTES = 5_000_000
SAMPLE = 1_000  # pictures that mean and standard deviation are taken from
KEPT = 2**28  # bytes of small pictures that are decoded once and kept, as for MNIST
SHOWN = 256  # longest side of a picture in an attention map


class Decoded:
    """The pixels of small pictures, all in one array, each decoded when it is first asked for."""

    def __init__(self, pictures: int, shape: tuple[int, int, int]) -> None:
        self.shape = (pictures, *shape)
        self.pixels = np.empty((0, *shape), np.uint8)  # room is made with the first picture
        self.there = np.zeros(pictures, bool)

    def add(self, number: int, pixels: UInt8[np.ndarray, "channel size size"]) -> None:
        if not len(self.pixels):
            self.pixels = np.empty(self.shape, np.uint8)
        self.pixels[number], self.there[number] = pixels, True


@dataclass(frozen=True)
class Picture:
    """A picture that is not decoded yet, and the boxes to blank in it.

    Where all pictures together are small, `decoded` takes its pixels under its `number`.
    """

    value: str
    where: str
    blank: tuple[int, ...] = ()
    decoded: Decoded | None = field(default=None, compare=False, repr=False)
    number: int = field(default=0, compare=False, repr=False)


class Image(InFile):
    """A picture, decoded when a batch needs it."""

    kind: ClassVar[str] = "image"
    noun: ClassVar[str] = "a picture"
    thing: ClassVar[str] = "picture"
    media: ClassVar[str] = "image"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    objects: ClassVar[str] = "a PIL image"
    most_bytes: ClassVar[int] = REQUEST_BYTES
    request_bytes: ClassVar[int] = url_bytes(REQUEST_BYTES)
    shorten: ClassVar[str] = "send a smaller one"
    headers: ClassVar[tuple[str, ...]] = (
        *("image", "image_path", "path", "file", "filename", "file_name", "picture", "photo"),
    )

    @ranged
    def __init__(
        self,
        size: Annotated[int, Range(4, 1024), "pixels of each side after resizing"] = 64,
        colour: Annotated[bool, "read three colour channels; false reads grey"] = True,
        embed: Annotated[
            Spec,
            Of("fields.embed.convolutions.Convolutions"),
            "the convolutional network that turns pixels into vectors",
        ] = PLAIN,
    ) -> None:
        self.size, self.colour, self.embed = size, colour, table(embed)
        self.mean, self.std = 0.5, 0.5
        self.grid = self._convolutions().grid

    @property
    def positions(self) -> int:
        """How many vectors a picture becomes."""
        return int(self.grid**2)

    def fit(self, values: Sequence[str]) -> None:
        some = values[:: max(1, len(values) // SAMPLE)]
        pixels = np.stack(list(readable(some, lambda value: self._pixels(value, ""))))
        self.mean, self.std = float(pixels.mean()), max(float(pixels.std()), 1e-3)

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean, "std": self.std}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.mean, self.std = float(state["mean"]), float(state["std"])

    def encode(self, values: Sequence[str], where: Where, role: str = "picture") -> list[Picture]:
        self.found(values, where)
        shape = (3 if self.colour else 1, self.size, self.size)
        numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}  # several captions share one
        decoded = Decoded(len(numbers), shape) if len(numbers) * math.prod(shape) <= KEPT else None
        each = zip(values, where, strict=True)
        return [Picture(value, at, decoded=decoded, number=numbers[value]) for value, at in each]

    def length(self, row: Picture) -> int:
        return self.positions

    def collate(self, rows: Sequence[Picture]) -> Pixels:
        pixels = self._together(rows)
        return Pixels(torch.from_numpy(pixels).float().div_(255).sub_(self.mean).div_(self.std))

    def _together(self, rows: Sequence[Picture]) -> np.ndarray:
        """The pixels of a batch, from 0 to 255; those that are kept are taken out in one go."""
        kept = rows[0].decoded
        if kept is None or any(row.blank or row.decoded is not kept for row in rows):
            return np.stack([self._blanked(row) for row in rows])
        numbers = np.array([row.number for row in rows])
        for place in np.flatnonzero(~kept.there[numbers]).tolist():
            kept.add(rows[place].number, self._bytes(rows[place].value, rows[place].where))
        pixels: np.ndarray = kept.pixels[numbers]
        return pixels

    def _pixels(self, value: str, where: str) -> Float[np.ndarray, "channel size size"]:
        """[channel, size, size], from 0 to 1."""
        return self._bytes(value, where).astype(np.float32) / 255

    def _bytes(self, value: str, where: str) -> UInt8[np.ndarray, "channel size size"]:
        picture = decode(value, where).resize((self.size, self.size))
        array = np.asarray(picture if self.colour else picture.convert("L"))
        return array.transpose(2, 0, 1) if self.colour else array[None]

    def _blanked(self, row: Picture) -> Float[np.ndarray, "channel size size"]:
        pixels = self._bytes(row.value, row.where).astype(np.float32)
        cell = self.size // self.grid
        for place in row.blank:
            top, left = (cell * one for one in divmod(place, self.grid))
            pixels[:, top : top + cell, left : left + cell] = 255 * self.mean
        return pixels

    def embedding(self) -> Embedding:
        return self._convolutions()

    def _convolutions(self) -> Convolutions:
        found: Convolutions = call(Convolutions, self.embed, channels=3 if self.colour else 1, side=self.size)
        return found

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        n = self.grid
        boxes = tuple(Box(x / n, y / n, (x + 1) / n, (y + 1) / n) for y in range(n) for x in range(n))
        return [boxes] * len(values)

    def source(self, value: str) -> str:
        return to_data_url(decode(value, ""))

    def drop(self, row: Picture, positions: Sequence[int]) -> Picture:
        """With boxes blanked to the mean; their places stay."""
        self.droppable(positions, self.positions, "box")
        return replace(row, blank=(*row.blank, *positions))

    def verify(self, value: str, where: str) -> None:
        decode(value, where, load=False)

    def url_of(self, value: Any) -> str | None:
        from PIL import Image as Pillow

        if not isinstance(value, Pillow.Image):
            return None
        return png_url(value if value.mode in ("1", "L", "RGB", "RGBA") else value.convert("RGB"))

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        sides = [decode(value, "", load=False).size for value in values[:SAMPLE]]
        return {"pixels wide": [wide for wide, _ in sides], "pixels high": [high for _, high in sides]}

    def profile(self, values: Sequence[str]) -> Profile:
        return Profile(float(self.positions), encoder="identity")


def decode(value: str, where: str, load: bool = True) -> Any:
    """A Pillow image of a path or a data URL, upright and in RGB. What is no picture, or too large, is refused before
    it is unpacked; without `load` nothing is, and the image is as it is stored."""
    from PIL import Image as Pillow  # not before a picture is met

    warnings.filterwarnings("ignore", category=Pillow.DecompressionBombWarning)  # sizes are checked here
    warnings.filterwarnings("ignore", message="(Possibly c|C)orrupt EXIF data", category=UserWarning)
    at = f"{where}: " if where else ""
    name = "picture" if is_url(value) else repr(value[:200])
    try:
        if is_url(value):
            head, _, body = value.partition(",")
            content = base64.b64decode(body, validate=True) if head.endswith(";base64") else b""
        else:
            if os.path.exists(value) and not os.path.isfile(value):  # a pipe would keep us waiting
                raise OSError("not a regular file")
            with open(value, "rb") as file:
                content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise RegardError(f"{at}{name} has more than {MOST_BYTES:,} bytes", do="use a smaller picture")
        if not content:
            raise ValueError("it is empty")
        picture = Pillow.open(io.BytesIO(content), formats=FORMATS)
        if picture.width * picture.height > MOST_PIXELS:
            raise _too_large(f"{at}{name}", f"{picture.width:,} × {picture.height:,}")
        if load:
            picture.load()
            picture = _plain(picture)
    except RegardError:
        raise
    except Pillow.DecompressionBombError:  # Pillow's own limit, which is higher
        raise _too_large(f"{at}{name}", f"more than {MOST_PIXELS:,}") from None
    except (OSError, ValueError, SyntaxError, binascii.Error, struct.error, Pillow.DecompressionBombWarning) as error:
        said = " ".join(str(error).partition("<")[0].split())[:100]  # without Pillow's object
        raise RegardError(f"{at}cannot read {name} ({said})", expected=f"a picture ({', '.join(FORMATS)})") from None
    return picture


def _too_large(name: str, pixels: str) -> RegardError:
    expected, do = f"at most {MOST_PIXELS:,} in all", "use a smaller picture"
    return RegardError(f"{name} has {pixels} pixels", expected=expected, do=do)


def _plain(picture: Any) -> Any:
    """Upright, in RGB of 8 bits, on white where it is transparent."""
    from PIL import Image as Pillow
    from PIL import ImageOps

    # No picture is refused for what is written beside it.
    with suppress(OSError, ValueError, SyntaxError, TypeError, KeyError, struct.error):
        picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I"):  # 16 bits of grey, which `convert` would cut off at 255
        picture = Pillow.fromarray((np.asarray(picture).astype(np.int64).clip(0, 65_535) // 257).astype(np.uint8))
    if picture.has_transparency_data:
        layers = picture.convert("RGBA")
        ground = Pillow.new("RGBA", layers.size, "white")
        picture = Pillow.alpha_composite(ground, layers)
    return picture.convert("RGB")


def to_data_url(picture: Any) -> str:
    """A Pillow image as a PNG data URL, at most `SHOWN` pixels wide and high."""
    small = picture.copy()
    small.thumbnail((SHOWN, SHOWN))
    return png_url(small)


def png_url(picture: Any, **how: Any) -> str:
    """A Pillow image as a PNG data URL, in its own size; `how` are Pillow's options of PNG."""
    out = io.BytesIO()
    picture.save(out, "PNG", **how)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()
