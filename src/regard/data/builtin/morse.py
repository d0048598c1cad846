"""Morse code: the sound of dots and dashes, in noise and from an unsteady hand → the letters.

Groups of random letters and digits, keyed as the International Telecommunication Union's recommendation M.1677-1 says
(a dash is three dots long, the gap between parts of a character one, between characters three, between groups seven),
at 20 to 30 words a minute (a dot lasts 1.2 s / words). Speed and pitch drift within each recording, every element has
a length of its own, and white noise lies under it: `snr` is the power of the tone to that of the noise over the whole
band, 0 to 2 kHz. `grounding` says when each character sounds, from its first element to its last.

    Morse(train=100, snr=10.0).splits().train[0]        # ("data:audio/wav;base64,…",) → "K7 QRX"

Recordings are kept in memory as WAV of 8 bits and 4,000 samples a second. A text is in one part only.
"""

from random import Random
from typing import Annotated, Any

import numpy as np

from regard.data.builtin._builtin import DataSeed, Hashed, TestSize, TrainSize, ValidSize
from regard.data.splits import place
from regard.fields.audio import wav_url
from regard.ranges import Range, ranged
from regard.regions import Interval
from regard.types import Example, Grounding

__all__ = ["CODE", "RATE", "Morse", "keyed"]

RATE = 4_000
CODE = {
    "A": ".-", "B": "-...", "C": "-.-.", "D": "-..", "E": ".", "F": "..-.", "G": "--.", "H": "....", "I": "..",
    "J": ".---", "K": "-.-", "L": ".-..", "M": "--", "N": "-.", "O": "---", "P": ".--.", "Q": "--.-", "R": ".-.",
    "S": "...", "T": "-", "U": "..-", "V": "...-", "W": ".--", "X": "-..-", "Y": "-.--", "Z": "--..",
    "0": "-----", "1": ".----", "2": "..---", "3": "...--", "4": "....-",
    "5": ".....", "6": "-....", "7": "--...", "8": "---..", "9": "----.",
}  # fmt: skip
WORDS_A_MINUTE = 20.0, 30.0
PITCH = 400.0, 900.0  # hertz
SPEED_DRIFT, PITCH_DRIFT, JITTER = 0.12, 0.05, 0.08  # shares: over a recording, and of each element
RAMP = 20  # samples in which a tone rises and falls


class Morse(Hashed):
    """Morse code in noise → its letters (transcribe)."""

    @ranged
    def __init__(
        self,
        train: TrainSize = 5_000,
        valid: ValidSize = 200,
        test: TestSize = 400,
        snr: Annotated[float, Range(-20, 60), "power of the tone to that of the noise, in decibels"] = 10.0,
        seed: DataSeed = 1,
    ) -> None:
        super().__init__(train, valid, test, seed)
        self.snr = snr

    def _make(self, split: str, size: int, first: float, last: float) -> list[Example]:
        chance = Random(f"{self.seed} morse {split}")
        noise = np.random.default_rng([self.seed, *map(ord, split)])
        examples: list[Example] = []
        while len(examples) < size:
            groups = [
                "".join(chance.choices(list(CODE), k=chance.randint(1, 5))) for _ in range(chance.choice((1, 1, 2)))
            ]
            text = " ".join(groups)
            if first <= place((text,), self.seed) < last:
                sound, spans = keyed(text, self.snr, noise)
                heard = tuple(
                    Grounding(at, at + 1, Interval(a / RATE, b / RATE)) for at, (a, b) in sorted(spans.items())
                )
                url = wav_url(sound, RATE, width=1)
                examples.append(Example((url,), text, "builtin:morse", grounding=heard))
        return examples


def keyed(text: str, snr: float, chance: np.random.Generator) -> tuple[Any, dict[int, tuple[int, int]]]:
    """The sound of a text, and from which sample to which each of its characters is heard."""
    on, units, spans = [False], [float(chance.uniform(3, 8))], {}
    for at, letter in enumerate(text):
        if letter == " ":
            units[-1] = 7.0
            continue
        begin = len(on)
        for sign in CODE[letter]:
            on += [True, False]
            units += [1.0 if sign == "." else 3.0, 1.0]
        units[-1] = 3.0
        spans[at] = begin, len(on) - 1
    units[-1] = float(chance.uniform(3, 8))
    dot = 1.2 / chance.uniform(*WORDS_A_MINUTE) * RATE
    length = np.array(units) * chance.uniform(1 - JITTER, 1 + JITTER, len(units))
    length *= dot * (1 + _drift(np.cumsum(length) / length.sum(), SPEED_DRIFT, chance))
    edges = np.concatenate([[0], np.cumsum(length)]).round().astype(int)
    gate = np.repeat(np.array(on, dtype=np.float64), np.diff(edges))
    ramp = np.hanning(RAMP + 2)
    gate = np.convolve(gate, ramp / ramp.sum(), mode="same")
    pitch = chance.uniform(*PITCH) * (1 + _drift(np.linspace(0, 1, len(gate)), PITCH_DRIFT, chance))
    spread = 10 ** (-snr / 20) / np.sqrt(2)  # of noise beside a tone of amplitude 1
    loud = chance.uniform(0.2, 0.5) / max(1.0, 0.5 * (1 + 4 * spread))  # so that little is clipped
    tone = gate * np.sin(2 * np.pi * np.cumsum(pitch) / RATE + chance.uniform(0, 2 * np.pi))
    sound = loud * (tone + spread * chance.standard_normal(len(gate)))
    return sound.astype(np.float32), {at: (int(edges[a]), int(edges[b])) for at, (a, b) in spans.items()}


def _drift(time: Any, most: float, chance: np.random.Generator) -> Any:
    """A slow wave over `time` from 0 to 1, between −most and most."""
    return most * np.sin(2 * np.pi * (chance.uniform(0.2, 1.2) * time + chance.uniform()))
