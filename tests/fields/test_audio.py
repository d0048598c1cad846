"""Audio: lengths without decoding, statistics, regions, batches and refusals."""

from pathlib import Path

import numpy as np
import pytest
import torch

from regard.errors import RegardError
from regard.fields import audio as module
from regard.fields.audio import Audio, wav_url
from regard.regions import Interval

RATE = 4_000
small = {"rate": RATE, "bands": 8, "embed": {"dim": 6, "channels": 2}}


def recording(seconds: float, seed: int = 1, loud: float = 0.2) -> str:
    return wav_url(np.random.default_rng(seed).normal(0, loud, round(seconds * RATE)).astype(np.float32), RATE)


def test_headers_tell_lengths_and_nothing_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr(module, "samples", never)
    field = Audio(**small)
    rows = field.encode([recording(0.5), recording(0.41)], ["", ""])
    assert [row.seconds for row in rows] == [0.5, 0.41]
    assert [field.length(row) for row in rows] == [13, 11]  # of 40 ms each, the last begun
    assert field.regions([recording(0.41)])[0][-2:] == (Interval(0.36, 0.4), Interval(0.4, 0.41))


def test_positions_are_as_many_as_vectors() -> None:
    field = Audio(**small)
    values = [recording(seconds) for seconds in (0.04, 0.041, 0.3, 0.5)]
    rows = field.encode(values, [""] * 4)
    with torch.no_grad():
        found = field.embedding().eval()(field.collate(rows))
    assert found.lengths.tolist() == [field.length(row) for row in rows] == [*map(len, field.regions(values))]
    assert found.values.shape == (4, 13, 6)


def test_statistics_are_those_of_the_set_and_come_back() -> None:
    field, values = Audio(**small), [recording(0.5, seed) for seed in range(4)]
    field.fit(values)
    twin = Audio(**small)
    twin.restore(field.state())
    frames, there = twin.embedding().spectrogram(twin.collate(twin.encode(values, [""] * 4)))
    seen = frames[there]
    torch.testing.assert_close(seen.mean(0), torch.zeros(8), atol=1e-3, rtol=0)
    torch.testing.assert_close(seen.std(0), torch.ones(8), atol=1e-3, rtol=0)
    with pytest.raises(RegardError, match="expected 9 bands"):
        Audio(**{**small, "bands": 9}).restore(field.state())


def test_of_each_recording_by_itself() -> None:
    """Then it does not matter how loud it is."""
    field = Audio(**small, normalise="recording")
    sound = np.random.default_rng(1).normal(0, 0.1, RATE).astype(np.float32)
    rows = field.encode([wav_url(sound, RATE), wav_url(3 * sound, RATE)], ["", ""])
    frames, _ = field.embedding().spectrogram(field.collate(rows))
    assert (frames[0] - frames[1]).abs().mean() < 0.01  # but for the rounding of quiet samples


def test_silent_and_clipped_sound_gets_a_note() -> None:
    field = Audio(**small)
    field.fit([recording(0.2), recording(0.2, loud=0.0), recording(0.2, loud=0.0), recording(0.2, loud=3.0)])
    assert field.notes == [
        "2 of 4 recordings looked at are silent",
        "1 of 4 recordings looked at is clipped: too loud for the recorder",
    ]
    with pytest.raises(RegardError, match="every recording is silent"):
        field.fit([recording(0.2, loud=0.0)])


def test_hidden_positions_become_the_mean() -> None:
    field = Audio(**small)
    [row] = field.encode([recording(0.4)], [""])
    frames, there = field.embedding().spectrogram(field.collate([field.drop(row, [2, 3])]))
    assert there[0].tolist() == [True] * 8 + [False] * 8 + [True] * 24
    assert field.length(field.drop(row, [2])) == field.length(row)
    with pytest.raises(RegardError, match="no position 10 to drop; expected 0 to 9"):
        field.drop(row, [10])
    assert frames.shape == (1, 40, 8)


def test_what_is_refused(tmp_path: Path) -> None:
    field = Audio(**small, max_seconds=0.5)
    for value, said in (
        (str(tmp_path / "no.wav"), r"a.tsv:1: no recording '.*no.wav'; expected a file \(.wav, .flac, .ogg, .oga\)"),
        (recording(0.6), r"a.tsv:1: a recording of 0.6 s; expected at most 0.5 s; cut it, or train with .*=1"),
    ):
        with pytest.raises(RegardError, match=f"^{said}"):
            field.encode([value], ["a.tsv:1"])
    for value in ("/etc/passwd", "data:image/png;base64,AAAA"):  # never one of the server's own files
        with pytest.raises(RegardError, match="not a recording"):
            field.requested(value, "input 1", 100)
    with pytest.raises(RegardError, match="cannot read the sound"):
        field.requested("data:audio/wav;base64,AAAA", "input 1", 100)
    field.requested(recording(0.1), "input 1", 100)


def test_paths_are_found_beside_their_table(tmp_path: Path) -> None:
    assert Audio(**small).located("a/b.wav", tmp_path) == str(tmp_path / "a/b.wav")
    assert Audio(**small).title("x/hello.wav") == "hello.wav"
    assert Audio(**small).sizes([recording(0.25)]) == {"milliseconds": [250]}
