"""A recording as a data URL, the form in which an attention map and the page hold it, and its spectrogram.

is_sound("data:audio/wav;base64,…")
spectrogram(url).shape             # (64, frames): 0 to 255, the lowest band last
stretch(weights, intervals)        # Interval(0.42, 0.61): where the largest weight is, and as much around it
"""

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from regard.errors import RegardError
from regard.fields.audio import pictured, samples, wav_url
from regard.regions import Interval

__all__ = ["is_sound", "sound_url", "spectrogram", "stretch"]

SHOWN = 16_000  # samples per second of a file
HALF = 0.5  # of the largest weight, down to which its neighbours belong to the stretch
# Letters of base64 alone: nothing in it can end an attribute.
_url = re.compile(r"data:audio/(?:wav|x-wav|wave|flac|ogg);base64,[A-Za-z0-9+/]+={0,2}")


def is_sound(text: str) -> bool:
    """Whether it is the data URL of a recording."""
    return _url.fullmatch(text) is not None


def sound_url(source: Any) -> str:
    """The data URL of a path, or of samples from −1 to 1 and their rate; a data URL is returned as it is."""
    if isinstance(source, str) and is_sound(source):
        return source
    if isinstance(source, str | os.PathLike):
        return wav_url(samples(os.fspath(source), "", SHOWN), SHOWN)
    if isinstance(source, tuple) and len(source) == 2:
        return wav_url(np.asarray(source[0], dtype=np.float32), int(source[1]))
    raise RegardError(
        f"a recording of type {type(source).__name__}", expected="a path, or a pair of samples and their rate"
    )


@lru_cache(maxsize=8)
def spectrogram(url: str) -> UInt8[np.ndarray, "band frame"]:
    """Energy by band and time, the louder the larger; at most 2,000 frames."""
    return pictured(url)


def stretch(weights: Float[np.ndarray, " column"], columns: Sequence[object]) -> Interval | None:
    """The intervals around the largest weight with at least half of it, as one; None where nothing has a weight."""
    times = [one for one in columns if isinstance(one, Interval)]
    if len(times) != len(weights) or not weights.any():
        return None
    first = last = int(weights.argmax())
    least = HALF * weights[first]
    while first and weights[first - 1] >= least:
        first -= 1
    while last + 1 < len(weights) and weights[last + 1] >= least:
        last += 1
    return Interval(times[first].start, times[last].end)
