"""Mel scale and spectrogram: numbers of HTK's definition, a tone, and where frames stand."""

import math

import pytest
import torch

from regard.fields._mel import FLOOR, RANGE, fft_size, filter_bank, hertz, log_mel, mel


def test_the_scale_is_htks() -> None:
    """m = 2595 log₁₀(1 + f/700): 1,000 Hz is 1,000 mel by definition, 700 Hz is 2595 log₁₀ 2, 6,300 Hz is 2,595."""
    found = mel(torch.tensor([0.0, 700.0, 1000.0, 6300.0])).tolist()
    assert found == pytest.approx([0, 2595 * math.log10(2), 999.9855, 2595], abs=1e-3)
    assert hertz(mel(torch.tensor([440.0]))).item() == pytest.approx(440, rel=1e-5)


def test_the_bank_by_hand() -> None:
    """8 kHz, 4 bands: edges every 2146.06 / 5 = 429.2 mel, so the first triangle has its top at 324.5 Hz and ends at
    799.4 Hz. The bin at 500 Hz (607.4 mel) is on its falling side: (858.4 − 607.4) / 429.2 = 0.585; and rises in the
    second: 0.415."""
    bank = filter_bank(8_000, 16, 4)
    assert bank.shape == (9, 4)
    assert bank[1].tolist() == pytest.approx([0.5848, 0.4152, 0, 0], abs=1e-3)
    inside = bank[1:-1].sum(1)  # between the first and the last top they sum to 1
    assert inside[:5].tolist() == pytest.approx([1.0] * 5, abs=1e-5)


def test_a_tone_is_in_its_band_and_silence_is_the_floor() -> None:
    rate, window, hop = 8_000, 200, 80
    time = torch.arange(rate) / rate
    bank = filter_bank(rate, fft_size(window), 40)
    frames = log_mel(torch.sin(2 * math.pi * 1000 * time)[None], window, hop, bank)[0]
    tops = hertz(torch.linspace(0, float(mel(torch.tensor(4000.0))), 42))[1:-1]
    assert abs(float(tops[frames[50].argmax()]) - 1000) < 60
    silent = log_mel(torch.zeros(1, 800), window, hop, bank)
    assert silent.unique().tolist() == pytest.approx([math.log(FLOOR)])


def test_nothing_lies_more_than_80_db_below_the_loudest() -> None:
    """A tone, then silence: 80 dB are 8 ln 10 = 18.42 in log energies. Each recording of a batch has
    its own limit."""
    rate, bank = 8_000, filter_bank(8_000, 256, 12)
    tone = torch.sin(2 * math.pi * 1000 * torch.arange(rate) / rate) * (torch.arange(rate) < rate // 2)
    frames = log_mel(torch.stack([tone, 0.01 * tone]), 200, 80, bank)
    assert pytest.approx(18.4207, abs=1e-4) == RANGE
    for one in frames:
        assert float(one.max() - one.min()) == pytest.approx(RANGE, abs=1e-4)
        assert one[-1].tolist() == pytest.approx([float(one.max()) - RANGE] * 12, abs=1e-4)
    assert float(frames[0].max() - frames[1].max()) == pytest.approx(4 * math.log(10), abs=1e-3)


@pytest.mark.parametrize("window", [60, 80, 81, 200])
def test_a_frame_stands_for_its_own_stretch(window: int) -> None:
    """An impulse in the middle of stretch 5 is loudest in frame 5; there is a frame for each hop begun."""
    hop, bank = 80, filter_bank(8_000, fft_size(window), 8)
    sound = torch.zeros(1, 10 * hop + 1)
    sound[0, 5 * hop + hop // 2] = 1.0
    frames = log_mel(sound, window, hop, bank)[0]
    assert frames.shape == (11, 8)
    assert frames.mean(1).argmax() == 5


def test_a_warped_bank_moves_tones_and_keeps_the_highest() -> None:
    bank = filter_bank(8_000, 512, 40, torch.tensor([0.8, 1.0, 1.2]))
    torch.testing.assert_close(bank[1], filter_bank(8_000, 512, 40), atol=1e-4, rtol=0)
    bands = bank[:, 64].argmax(-1)  # 1,000 Hz
    assert bands[0] < bands[1] < bands[2]
    assert (bank[:, 250].sum(-1) > 0).all()
