"""Reading recordings: what is in them, and one line for whatever is wrong with them."""

import io
import struct
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.errors import RegardError
from regard.fields._recording import Header, header, samples, wav_url

soundfile = pytest.importorskip("soundfile")
tone = (0.5 * np.sin(np.arange(800) / 5)).astype(np.float32)


def wav(path: Path, width: int = 2, channels: int = 1, rate: int = 8_000, frames: int = 800) -> str:
    top = 2 ** (8 * width - 1)
    whole = np.round(tone[:frames] * (top - 1)).astype(np.int64).repeat(channels)
    content = (
        (whole + 128).astype(np.uint8).tobytes()
        if width == 1
        else b"".join(int(n).to_bytes(width, "little", signed=True) for n in whole)
    )
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(rate)
        file.writeframes(content)
    return str(path)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_whole_numbers_of_every_width(tmp_path: Path, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)  # none is needed
    path = wav(tmp_path / "a.wav", width)
    assert header(path, "") == Header(8_000, 1, 800)
    np.testing.assert_allclose(samples(path, "", 8_000), tone, atol=0.02 if width == 1 else 1e-4)


@pytest.mark.parametrize("form", ["FLAC", "OGG", "WAV"])
def test_other_forms_and_channels_are_mixed(tmp_path: Path, form: str) -> None:
    path = str(tmp_path / f"a.{form.lower()}")
    both = np.stack([tone, np.zeros_like(tone)], 1)
    soundfile.write(path, both, 8_000, format=form, subtype={"WAV": "FLOAT", "OGG": "VORBIS"}.get(form))
    assert header(path, "") == Header(8_000, 2, 800)
    found = samples(path, "", 8_000)
    assert np.abs(found - tone / 2).max() < (0.1 if form == "OGG" else 1e-4)
    np.testing.assert_allclose(samples(path, "", 8_000, 0.025, 0.05), found[200:400], atol=1e-3)  # a stretch of it


def test_resampling_keeps_the_tone_and_its_length(tmp_path: Path) -> None:
    long = np.sin(2 * np.pi * 440 * np.arange(11_025) / 11_025).astype(np.float32)
    path = str(tmp_path / "a.wav")
    soundfile.write(path, long, 11_025, subtype="PCM_16")
    found = samples(path, "", 8_000)
    assert len(found) == 8_000
    assert np.abs(np.fft.rfft(found)).argmax() == 440


def test_a_data_url_comes_back() -> None:
    url = wav_url(tone, 8_000)
    assert header(url, "").seconds == 0.1
    np.testing.assert_allclose(samples(url, "", 8_000), tone, atol=1e-4)


def wrong(tmp_path: Path, kind: str) -> str:
    path = tmp_path / "wrong.wav"
    content = bytearray(Path(wav(path)).read_bytes())
    if kind == "huge":
        content[40:44] = struct.pack("<I", 2**32 - 2)
    elif kind == "rate":
        content[24:28] = struct.pack("<I", 3)
    elif kind == "channels":
        content[22:24], content[32:34] = struct.pack("<H", 200), struct.pack("<H", 400)
    elif kind in ("short", "header"):
        content = content[: {"short": 900, "header": 30}[kind]]
    elif kind == "text":
        content = bytearray(b"no sound at all, but long enough to be one")
    elif kind == "empty":
        content = bytearray()
    elif kind == "nothing":
        content[40:44] = struct.pack("<I", 0)
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("huge", r"its header promises 268,435.46 s, and there are at most 0\.\d\d s"),
        ("short", r"its header promises 0.10 s, and there are at most 0\.\d\d s"),
        ("rate", "3 samples a second; 1,000 to 192,000 can be read"),
        ("channels", "200 channels; at most 32 can be read"),
        ("header", "cannot read"),
        ("text", "cannot read"),
        ("empty", "it is empty"),
        ("nothing", "it has no samples"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, kind: str, said: str) -> None:
    with pytest.raises(RegardError, match=f"^t.tsv:3: .*{said}") as error:
        header(wrong(tmp_path, kind), "t.tsv:3")
    assert "\n" not in str(error.value)


def test_samples_that_are_no_numbers(tmp_path: Path) -> None:
    path = str(tmp_path / "nan.wav")
    soundfile.write(path, np.array([0.1, np.nan, 0.2], np.float32), 8_000, subtype="FLOAT")
    with pytest.raises(RegardError, match="samples that are not finite numbers"):
        samples(path, "", 8_000)


def test_other_forms_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soundfile.write(tmp_path / "a.flac", tone, 8_000)
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(RegardError, match=r"WAV in whole numbers.*; pip install soundfile$"):
        header(str(tmp_path / "a.flac"), "")


def test_a_truncated_flac_is_told(tmp_path: Path) -> None:
    noise: Any = np.random.default_rng(1).uniform(-1, 1, 50_000)
    out = io.BytesIO()
    soundfile.write(out, noise, 8_000, format="FLAC")
    path = tmp_path / "a.flac"
    path.write_bytes(out.getvalue()[: len(out.getvalue()) // 2])
    with pytest.raises(RegardError, match="cannot read"):
        samples(str(path), "", 8_000)
