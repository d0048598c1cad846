"""Recordings as files or data URLs: what a header says, and samples of any stretch of it.

WAV in whole numbers is read with Python's own library; all else (FLAC, OGG, WAV in fractions) needs the package
soundfile. Nothing is decoded before its size is known and allowed.

    header("a.flac", "").seconds;  samples("a.flac", "", rate=16_000)        # mono, float32
"""

import base64
import binascii
import io
import os
import struct
import wave
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
from jaxtyping import Float

from regard.errors import RegardError
from regard.fields._in_file import is_url

__all__ = ["MOST_BYTES", "RATES", "SUFFIXES", "Header", "header", "samples", "wav_url"]

SUFFIXES = (".wav", ".flac", ".ogg", ".oga")
FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG")  # as soundfile names them
MOST_BYTES = 500_000_000
RATES = (1_000, 192_000)  # samples a second
CHANNELS = 32
BLOCK = 1 << 18  # frames decoded at once
WRONG = (OSError, ValueError, RuntimeError, EOFError, struct.error, binascii.Error, wave.Error)


@dataclass(frozen=True)
class Header:
    """What a recording says of itself."""

    rate: int
    channels: int
    frames: int

    @property
    def seconds(self) -> float:
        return self.frames / self.rate


def header(value: str, where: str) -> Header:
    with _opened(value, where) as sound:
        found: Header = sound.header
    return found


def samples(
    value: str, where: str, rate: int, first: float = 0.0, last: float = float("inf")
) -> Float[np.ndarray, " sample"]:
    """Seconds `first` to `last`, mixed to one channel and resampled, from −1 to 1."""
    with _opened(value, where) as sound:
        own = sound.header.rate
        begin = min(round(first * own), sound.header.frames)
        end = min(round(last * own), sound.header.frames) if last < float("inf") else sound.header.frames
        mono = np.empty(end - begin, np.float32)
        sound.seek(begin)
        for at in range(0, len(mono), BLOCK):
            block = sound.read(min(BLOCK, len(mono) - at))
            if len(block) < min(BLOCK, len(mono) - at):
                there = (begin + at + len(block)) / own
                raise EOFError(f"it ends after {there:.2f} s, and its header promises {sound.header.seconds:.2f} s")
            mono[at : at + len(block)] = block.mean(axis=1)
    if not np.isfinite(mono).all():
        raise RegardError(
            f"{_at(where)}{_name(value)} has samples that are not finite numbers", do="record or convert it again"
        )
    if own == rate or not len(mono):
        return mono
    from scipy.signal import resample_poly

    shared = gcd(own, rate)
    found: Any = resample_poly(mono, rate // shared, own // shared)
    return found.astype(np.float32)  # type: ignore[no-any-return]


def wav_url(sound: Float[np.ndarray, " sample"], rate: int, width: int = 2) -> str:
    """One channel as a WAV data URL of 16 bits a sample, or with `width` 1 of 8."""
    clear = np.clip(sound, -1, 1)
    whole = np.round(clear * 32767).astype("<i2") if width == 2 else np.round(clear * 127 + 128).astype(np.uint8)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(whole.tobytes())
    return "data:audio/wav;base64," + base64.b64encode(out.getvalue()).decode()


class _Wave:
    """WAV in whole numbers, by Python's own library."""

    def __init__(self, file: Any, size: int) -> None:
        self.file = wave.open(file)  # noqa: SIM115
        rate, channels, frames = self.file.getframerate(), self.file.getnchannels(), self.file.getnframes()
        self.header, self.width = Header(rate, channels, frames), self.file.getsampwidth()
        if frames * channels * self.width > size:
            held = size / max(channels * self.width * rate, 1)
            raise EOFError(f"its header promises {self.header.seconds:,.2f} s, and there are at most {held:,.2f} s")

    def seek(self, frame: int) -> None:
        self.file.setpos(frame)

    def read(self, frames: int) -> Float[np.ndarray, "frame channel"]:
        content = self.file.readframes(frames)
        content = content[: len(content) // (self.width * self.header.channels) * (self.width * self.header.channels)]
        if self.width == 1:
            whole: Any = np.frombuffer(content, np.uint8).astype(np.float32) - 128
        elif self.width == 3:  # as the upper three bytes of four
            parts = np.frombuffer(content, np.uint8).reshape(-1, 3)
            whole = np.pad(parts, ((0, 0), (1, 0))).view("<i4")[:, 0].astype(np.float32) / 256
        else:
            whole = np.frombuffer(content, f"<i{self.width}").astype(np.float32)
        found: Float[np.ndarray, "frame channel"] = whole.reshape(-1, self.header.channels)
        return found / np.float32(2.0 ** (8 * self.width - 1))


class _SoundFile:
    """All other forms, by libsndfile."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        import soundfile  # type: ignore[import-untyped,unused-ignore]

        self.file = soundfile.SoundFile(file)
        if self.file.format not in FORMATS:
            raise ValueError(f"its format is {self.file.format}")
        self.header = Header(self.file.samplerate, self.file.channels, self.file.frames)

    def seek(self, frame: int) -> None:
        self.file.seek(frame)

    def read(self, frames: int) -> Float[np.ndarray, "frame channel"]:
        found: Float[np.ndarray, "frame channel"] = self.file.read(frames, dtype="float32", always_2d=True)
        return found


@contextmanager
def _opened(value: str, where: str) -> Iterator[Any]:
    """The recording, its header read and checked. What is wrong with it is one line."""
    at, name = _at(where), _name(value)
    try:
        with closing(_bytes(value)) as file:
            size = file.seek(0, os.SEEK_END)
            if size > MOST_BYTES:
                raise RegardError(f"{at}{name} has more than {MOST_BYTES:,} bytes", do="cut it into shorter recordings")
            if not size:
                raise ValueError("it is empty")
            file.seek(0)
            try:
                sound: Any = _Wave(file, size)
            except wave.Error:
                file.seek(0)
                sound = _SoundFile(file)
            with closing(sound.file):
                _check(sound.header)
                yield sound
    except RegardError:
        raise
    except ImportError:
        here = "WAV in whole numbers, the only form that is read without the package soundfile"
        raise RegardError(f"{at}cannot read {name}", expected=here, do="pip install soundfile") from None
    except WRONG as error:
        said = " ".join(str(error).split())[:150] or "it ends too early"
        raise RegardError(f"{at}cannot read {name} ({said})", expected="a recording (WAV, FLAC, OGG)") from None


def _check(head: Header) -> None:
    if not RATES[0] <= head.rate <= RATES[1]:
        raise ValueError(f"{head.rate:,} samples a second; {RATES[0]:,} to {RATES[1]:,} can be read")
    if not 1 <= head.channels <= CHANNELS:
        raise ValueError(f"{head.channels:,} channels; at most {CHANNELS} can be read")
    if head.frames < 1:
        raise ValueError("it has no samples")


def _bytes(value: str) -> io.BufferedIOBase:
    if not is_url(value):
        if os.path.exists(value) and not os.path.isfile(value):  # a pipe would keep us waiting
            raise OSError("not a regular file")
        return open(value, "rb")
    head, _, body = value.partition(",")
    if len(body) > MOST_BYTES * 4 // 3 + 4:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return io.BytesIO(base64.b64decode(body, validate=True) if head.endswith(";base64") else b"")


def _at(where: str) -> str:
    return f"{where}: " if where else ""


def _name(value: str) -> str:
    return "the sound" if is_url(value) else repr(value[:200])
