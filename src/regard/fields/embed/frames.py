"""Frames: sound → log-mel spectrogram → strided convolutions that shorten it to a vector every few hundredths of a
second.

`blocks` times: a convolution over time and bands with batch normalisation and ReLU that halves both; then a linear
layer from all channels and bands of a position to one vector. A convolution sees four steps of time around the two it
stands for, one on each side, so position p is centred on its own stretch of sound: samples p·hop·2^blocks to (p +
1)·hop·2^blocks.

In training the sound may be disturbed, so that few speakers teach more: white noise, another speed, another length of
the vocal tract (see _mel.py), and hidden stretches of time and of bands (Park et al. 2019, "SpecAugment", section 2; a
hidden part takes the mean).

    Audio(rate=8_000).embedding()(sound).values        # [batch, time, 128]
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad

from regard.fields._mel import fft_size, filter_bank, log_mel
from regard.fields.embed import Embedding
from regard.ranges import Dropout, Probability, Range, Width, ranged
from regard.types import Sequences

__all__ = ["QUIETEST", "Frames", "Normalise"]

Normalise = Literal["set", "recording"]
QUIETEST, LOUDEST = 5.0, 30.0  # decibels between the sound and the noise that is added
HIDDEN_TIME, HIDDEN_BANDS = 0.1, 0.2  # the longest hidden stretch, as a share of all frames and of all bands


class Frames(Embedding):
    """Sound → log-mel frames → a shorter sequence of vectors."""

    mean: Tensor
    std: Tensor
    bank: Tensor

    @ranged
    def __init__(
        self,
        rate: int,
        bands: int,
        window: int,
        hop: int,
        mean: Sequence[float],
        std: Sequence[float],
        normalise: Normalise,
        dim: Annotated[Width, "size of the vectors"] = 128,
        channels: Annotated[Width, "channels of the convolutions"] = 32,
        blocks: Annotated[int, Range(1, 6), "number of convolutions; each halves the number of frames"] = 2,
        dropout: Annotated[Dropout, "dropout on the vectors"] = 0.1,
        noise: Annotated[Probability, "probability of white noise in a training recording, 5 to 30 dB below it"] = 0.0,
        speed: Annotated[
            float, Range(0, 0.5), "largest change of speed of a training recording: 0.1 is from 0.9 to 1.1 times"
        ] = 0.0,
        warp: Annotated[
            float, Range(0, 0.5), "largest change of pitch of a training recording, as a share of the frequency"
        ] = 0.0,
        masks: Annotated[
            int, Range(0, 20), "stretches of time, and as many of bands, hidden in a training recording (SpecAugment)"
        ] = 0,
    ) -> None:
        super().__init__()
        self.rate, self.window, self.hop, self.normalise = rate, window, hop, normalise
        self.size, self.blocks = dim, blocks
        self.noise, self.speed, self.warp, self.masks = noise, speed, warp, masks
        self.register_buffer("mean", torch.tensor(mean, dtype=torch.float32), persistent=False)
        self.register_buffer("std", torch.tensor(std, dtype=torch.float32), persistent=False)
        self.register_buffer("bank", filter_bank(rate, fft_size(window), bands), persistent=False)
        layers, wide = [], bands
        for block in range(blocks):
            convolution = nn.Conv2d(channels if block else 1, channels, (4, 3), stride=2, padding=1, bias=False)
            layers.append(nn.Sequential(convolution, nn.BatchNorm2d(channels), nn.ReLU()))
            wide = (wide + 1) // 2
        self.layers = nn.ModuleList(layers)
        self.linear = nn.Linear(channels * wide, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Sequences) -> Sequences:
        frames, there = self.spectrogram(inputs)
        lengths = -(-inputs.lengths // self.hop)
        if self.training:
            frames, there, lengths = self._disturbed(frames, there, lengths)
        time = frames.shape[1]
        step = 2**self.blocks
        x = pad((frames * there[..., None])[:, None], (0, 0, 0, -time % step))
        for layer in self.layers:
            lengths = -(-lengths // 2)
            x = layer(x)
            x = x * _mask(lengths, x.shape[2], x.device)[:, None, :, None]  # as if nothing came after
        vectors = self.dropout(self.linear(x.transpose(1, 2).flatten(2)))
        return Sequences(vectors, _mask(lengths, vectors.shape[1], vectors.device), lengths)

    def spectrogram(self, inputs: Sequences) -> tuple[Float[Tensor, "batch frame band"], Bool[Tensor, "batch frame"]]:
        """Normalised log-mel frames, and which are there: where the sound is hidden they are the mean, 0."""
        kind = self.linear.weight.dtype
        sound, bank = inputs.values.to(kind), self.bank.to(kind)
        if self.training and self.noise:
            sound = self._noisy(sound, inputs.mask)
        if self.training and self.warp:
            factor = 1 + self.warp * (2 * torch.rand(len(sound)) - 1)
            bank = filter_bank(self.rate, fft_size(self.window), bank.shape[-1], factor).to(bank)
        frames = log_mel(sound, self.window, self.hop, bank)
        room = frames.shape[1] * self.hop - sound.shape[1]
        there = pad(inputs.mask, (0, room), value=False).reshape(len(sound), -1, self.hop).any(-1)
        if self.normalise == "recording":
            count = there.sum(1).clamp(min=1)[:, None, None]
            mean = (frames * there[..., None]).sum(1, keepdim=True) / count
            # A band in which nothing changes is left at 0.
            spread = ((frames - mean) ** 2 * there[..., None]).sum((1, 2), keepdim=True) / (count * frames.shape[-1])
            return (frames - mean) / (spread.sqrt() + 0.1), there
        return (frames - self.mean.to(kind)) / self.std.to(kind), there

    def _noisy(self, sound: Tensor, mask: Tensor) -> Tensor:
        power = (sound**2).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
        apart = QUIETEST + (LOUDEST - QUIETEST) * torch.rand(len(sound), 1, device=sound.device)
        chosen = torch.rand(len(sound), 1, device=sound.device) < self.noise
        level = (power * 10 ** (-apart / 10)).sqrt() * chosen
        return (sound + level * torch.randn_like(sound)) * mask

    def _disturbed(
        self, frames: Tensor, there: Tensor, lengths: Int[Tensor, " batch"]
    ) -> tuple[Tensor, Tensor, Int[Tensor, " batch"]]:
        """At another speed, and with stretches hidden."""
        if self.speed:
            faster = float(1 + self.speed * (2 * torch.rand(()) - 1))  # one for the batch: its rows are alike in length
            time = max(1, round(frames.shape[1] / faster))
            frames = interpolate(frames.transpose(1, 2), size=time, mode="linear").transpose(1, 2)
            there = interpolate(there[:, None].to(frames), size=time)[:, 0] > 0
            lengths = (lengths / faster).round().long().clamp(1, time)
            there = there & _mask(lengths, time, there.device)
        if self.masks:
            shown = _shown(self.masks, lengths.to(frames.device), frames.shape[1], HIDDEN_TIME)
            bands = torch.full_like(lengths, frames.shape[2]).to(frames.device)
            frames = frames * shown[..., None] * _shown(self.masks, bands, frames.shape[2], HIDDEN_BANDS)[:, None]
        return frames, there, lengths


def _mask(lengths: Int[Tensor, " batch"], time: int, device: torch.device) -> Bool[Tensor, "batch time"]:
    return torch.arange(time, device=device) < lengths.to(device)[:, None]


def _shown(count: int, lengths: Int[Tensor, " batch"], size: int, most: float) -> Bool[Tensor, "batch size"]:
    """True outside of so many stretches, each up to a share `most` of the length and anywhere in it."""
    share = torch.rand(2, count, len(lengths), 1, device=lengths.device)
    wide = share[0] * most * lengths[:, None]
    first = share[1] * (lengths[:, None] - wide)
    place = torch.arange(size, device=lengths.device) + 0.5
    return ~((place >= first) & (place < first + wide)).any(0)
