"""Log-mel spectrogram: sound → frames of band energies, as a matrix product over a short-time Fourier transform.

    m(f) = 2595 log₁₀(1 + f / 700)                                    HTK's mel scale (1,000 Hz is 1,000 mel)
    band b   a triangle over the frequencies, 1 at the centre m_b and 0 at m_{b−1} and m_{b+1}; the m are equally far
             apart from 0 to half the sample rate
    x_tb = log(10⁻¹⁰ + Σ_k H_bk |X_tk|²),   and nothing lies more than 80 dB below the loudest x of the recording

Without the lower limit (`RANGE`), digital silence would outweigh all that can be heard in means and deviations.

Davis & Mermelstein 1980, "Comparison of Parametric Representations for Monosyllabic Word Recognition"; the scale and
the triangles are those of HTK (Young et al. 2006, "The HTK Book", sections 5.4 and 5.6). Slaney's scale, linear below
1,000 Hz and with triangles of equal area, is another. Frame t is centred on the middle of its own stretch of sound,
samples t·hop to (t + 1)·hop, so that a frame never stands for a stretch beside it.

`warp` stretches the frequency axis under the triangles by a factor for each row, as a longer or shorter vocal tract
would (Jaitly & Hinton 2013, "Vocal Tract Length Perturbation (VTLP) improves speech recognition").
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["FLOOR", "RANGE", "fft_size", "filter_bank", "hertz", "log_mel", "mel"]

FLOOR = 1e-10  # of a band's energy: the logarithm of digital silence
RANGE = 80 * math.log(10) / 10  # of log energies: 80 dB between the loudest and the quietest
BEND = (
    0.8  # of half the sample rate: up to here frequencies are stretched in full, so that the highest stays the highest
)


def mel(hertz: Tensor) -> Tensor:
    return 2595 * torch.log10(1 + hertz / 700)


def hertz(mel: Tensor) -> Tensor:
    return 700 * (10 ** (mel / 2595) - 1)


def fft_size(window: int) -> int:
    """The power of two that holds a window."""
    return int(2 ** math.ceil(math.log2(max(window, 2))))


def filter_bank(
    rate: int, size: int, bands: int, warp: Float[Tensor, " batch"] | None = None
) -> Float[Tensor, "*batch bin band"]:
    """The weight of each frequency bin of a transform of that size in each band; with `warp`, a bank for each row."""
    half = rate / 2
    bins = torch.linspace(0, half, size // 2 + 1)
    if warp is not None:
        bend = BEND * half / warp.clamp(min=1)[:, None]
        top = warp[:, None] * bend
        bins = torch.where(bins <= bend, bins * warp[:, None], half - (half - top) / (half - bend) * (half - bins))
    edges = torch.linspace(0, 2595 * math.log10(1 + half / 700), bands + 2)
    rising = (mel(bins)[..., None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - mel(bins)[..., None]) / (edges[2:] - edges[1:-1])
    return torch.minimum(rising, falling).clamp(min=0)


def log_mel(
    sound: Float[Tensor, "batch sample"], window: int, hop: int, bank: Float[Tensor, "*batch bin band"]
) -> Float[Tensor, "batch frame band"]:
    """As many frames as there are hops, the last one begun counted; the window is Hann's."""
    frames = -(-sound.shape[1] // hop)
    before = (window - hop) // 2
    padded = torch.nn.functional.pad(sound, (max(before, 0), frames * hop - sound.shape[1] + window))
    cut = padded[:, max(-before, 0) :].unfold(1, window, hop)[:, :frames]
    hann = torch.hann_window(window, dtype=sound.dtype, device=sound.device)
    power = torch.fft.rfft(cut * hann, n=2 * (bank.shape[-2] - 1)).abs() ** 2
    found = torch.log(FLOOR + power @ bank)
    return found.maximum(found.amax((1, 2), keepdim=True) - RANGE)
