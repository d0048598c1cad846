"""Weights over a recording: its spectrogram, the stretch of each letter, and every view."""

from pathlib import Path

import numpy as np
import pytest

from regard.errors import RegardError
from regard.fields.audio import wav_url
from regard.look.attention_map import AttentionMap
from regard.look.heatmap import render
from regard.look.sound import is_sound, spectrogram, stretch
from regard.regions import Box, Interval, Token

RATE = 8_000
times = tuple(Interval(n / 10, (n + 1) / 10) for n in range(10))


def tone() -> str:
    """Silence, and from 0.5 s on 2,000 Hz."""
    time = np.arange(RATE) / RATE
    return wav_url((0.5 * np.sin(2 * np.pi * 2_000 * time) * (time > 0.5)).astype(np.float32), RATE)


def heard(heads: int = 0) -> AttentionMap:
    weights = np.zeros((2, 10))
    weights[0, 2:4], weights[1, 6:9] = (0.4, 0.6), (0.3, 0.6, 0.1)
    weights = np.stack([weights] * heads) if heads else weights
    return AttentionMap(weights, (Token("A", 0, 1), Token("</s>", 1, 1)), times, "hello.wav", source=tone())


def test_only_a_sound_is_one() -> None:
    assert is_sound(tone())
    for text in (
        "",
        "a.wav",
        "data:audio/wav;base64,",
        'data:audio/wav;base64,AAAA" onerror="x',
        "data:text/html;base64,AAAA",
    ):
        assert not is_sound(text)


def test_the_spectrogram_shows_when_and_how_high() -> None:
    levels = spectrogram(tone())
    high, frames = levels.shape
    assert (high, frames) == (64, 200)
    loud = levels[:, 120:190].mean(1)
    assert loud.argmax() == pytest.approx(64 * (1 - 1521.4 / 2146.1), abs=2)  # 2,000 Hz in mel, from the top
    assert levels[:, 10:90].mean() < 5


def test_the_stretch_of_a_letter() -> None:
    assert stretch(np.array([0, 0.4, 0.6, 0.29, 0]), times[:5]) == Interval(0.1, 0.3)
    assert stretch(np.zeros(5), times[:5]) is None
    assert stretch(np.ones(2), (Token("a"), Token("b"))) is None


@pytest.mark.parametrize("heads", [0, 2])
def test_it_is_drawn_everywhere(heads: int, tmp_path: Path) -> None:
    look = heard(heads)
    text = str(look)
    assert "0.20–0.40 s" in text
    assert "0.60–0.80 s" in text
    assert text.count("</s>") == max(heads, 1)
    assert all(len(line) <= 80 for line in text.split("\n"))
    assert render(look, "png").startswith(b"\x89PNG")
    svg = render(look, "svg").decode()
    assert svg.count("0.20–0.40 s") == max(heads, 1)
    assert AttentionMap.from_json(look.to_json()) == look
    assert "data:audio/wav" in look.save(tmp_path / "look.html").read_text(encoding="utf-8")


def test_boxes_are_not_in_a_sound() -> None:
    with pytest.raises(RegardError, match="boxes, but a sound as source"):
        AttentionMap(np.ones((1, 1)), (Token("a"),), (Box(0.0, 0.0, 1.0, 1.0),), source=tone())
