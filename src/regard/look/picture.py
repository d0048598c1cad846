"""A picture as a data URL, the form in which an attention map, JSON and the page hold it, and back.

to_url("cat.jpg")                  # "data:image/png;base64,…", at most 1,024 pixels wide and high
to_picture(to_url("cat.jpg")).size
"""

import base64
import os
import re
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import RegardError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["is_picture", "to_picture", "to_url"]

most_pixels = 50_000_000  # a file that unpacks to more is refused
side = 1024  # pixels, enough for every view
# No SVG: it may hold scripts and links. Letters of base64 alone: nothing in it can end an attribute.
_url = re.compile(r"data:image/(?:png|jpeg|gif|webp|bmp);base64,(?P<data>[A-Za-z0-9+/]+={0,2})")


def is_picture(text: str) -> bool:
    """Whether it is the data URL of a picture."""
    return _url.fullmatch(text) is not None


def to_url(source: Any) -> str:
    """The data URL of a path, a PIL image, or an array [h, w] or [h, w, 3]; a data URL is returned as it is.

    An array of bytes is taken as it is. In any other the largest value is white, or 1 if all are smaller."""
    from PIL import Image

    if isinstance(source, str) and is_picture(source):
        return source
    if isinstance(source, str | os.PathLike):
        picture = _opened(source, f"{os.fspath(source)!r:.80}")
    elif isinstance(source, np.ndarray):
        picture = Image.fromarray(_bytes(source))
    elif isinstance(source, Image.Image):
        picture = source
    else:
        raise RegardError(f"a picture of type {type(source).__name__}", expected="a path, a PIL image or an array")
    picture = picture.convert("RGB")
    picture.thumbnail((side, side))
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def to_picture(url: str) -> "Image":
    """The picture of a data URL, in RGB."""
    found = _url.fullmatch(url)
    if found is None:
        raise RegardError(f"a picture {url!r:.40}", expected="a data URL: data:image/png;base64,…")
    try:
        data = base64.b64decode(found["data"], validate=True)
    except ValueError as error:
        raise RegardError(f"a picture that cannot be read ({error})") from None
    return _opened(BytesIO(data), "the picture").convert("RGB")


def _opened(source: Any, name: str) -> "Image":
    """An opened picture of a bearable size; its size is read before its pixels."""
    from PIL import Image

    try:
        if isinstance(source, str | os.PathLike) and os.path.exists(source) and not os.path.isfile(source):
            raise OSError("not a regular file")  # a pipe would keep us waiting
        picture = Image.open(source)
        if picture.width * picture.height <= most_pixels:
            picture.load()
            return picture
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # SyntaxError: a broken PNG
        raise RegardError(f"{name}: cannot be read as a picture ({error!s:.80})") from None
    raise RegardError(f"{name}: {picture.width:,} × {picture.height:,} pixels", expected=f"at most {most_pixels:,}")


def _bytes(array: np.ndarray) -> np.ndarray:
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,)) or 0 in array.shape:
        raise RegardError(f"a picture of shape {list(array.shape)}", expected="[height, width] or [height, width, 3]")
    if array.dtype == np.uint8:
        return array
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all() or numbers.min() < 0:
        raise RegardError("a picture with values below 0, infinite or not a number", expected="values of at least 0")
    white: float = max(1.0, numbers.max())
    return (255 / white * numbers + 0.5).astype(np.uint8)
