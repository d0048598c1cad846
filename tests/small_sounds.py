"""Small recordings for tests: Morse code, short and clear."""

import numpy as np

from regard.data.builtin.morse import RATE, keyed
from regard.fields.audio import wav_url
from regard.types import Example

small_audio = {
    "name": "audio",
    "rate": RATE,
    "bands": 8,
    "embed": {"dim": 6, "channels": 2, "blocks": 3, "dropout": 0.0},
}


def recording(text: str, seed: int = 1) -> str:
    """As a data URL; the same for the same seed."""
    return wav_url(keyed(text, 20.0, np.random.default_rng(seed))[0], RATE, width=1)


recordings = [Example((recording(text),), text, f"m.tsv:{n}") for n, text in enumerate(("E", "TE", "EE T", "I"), 1)]
