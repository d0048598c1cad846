"""Small pictures for tests, and captions of them."""

import numpy as np
from PIL import Image

from regard.fields.image import to_data_url
from regard.types import Example

SIDE = 8


def picture(number: int) -> str:
    """Noise, as a data URL; the same for the same number."""
    pixels = np.random.default_rng(number).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    return to_data_url(Image.fromarray(pixels))


small_image = {"name": "image", "size": SIDE, "embed": {"dim": 6, "blocks": 2}}  # a grid of 2 × 2
captions = [
    Example((picture(n),), text, f"c.jsonl:{n}")
    for n, text in enumerate(("a red dot", "a blue dot above a red line", "two lines", "a line"), 1)
]
