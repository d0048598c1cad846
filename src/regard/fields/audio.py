"""Audio: a recording, given as the path of a file or as a data URL, and decoded when a batch needs it.

WAV, FLAC and OGG. Channels are mixed to one and resampled to `rate`. `frames` turns the sound into a log-mel
spectrogram and shortens it; each of its vectors stands for an interval of time, one of `regions`. How long a
recording is comes from its header.

    field = Audio(rate=8_000);  field.fit(paths);  field.collate(field.encode(paths, where)).values    # [batch, sample]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, UInt8

from regard.errors import RegardError, counted
from regard.fields import Profile, Where
from regard.fields._in_file import InFile, readable, url_bytes
from regard.fields._mel import fft_size, filter_bank, log_mel
from regard.fields._recording import SUFFIXES, header, samples, wav_url
from regard.fields.embed.frames import Frames, Normalise
from regard.find import PLAIN, Of, Spec, call, table
from regard.ranges import Range, ranged
from regard.regions import Interval, Region
from regard.types import Sequences

__all__ = ["SILENT", "SUFFIXES", "Audio", "Sound", "pictured", "samples", "wav_url"]

REQUEST_BYTES = 10_000_000
SAMPLE = 200  # recordings that mean and standard deviation are taken from
SILENT = 1e-4  # of full scale: nothing in it is louder
FULL, CLIPPED = 0.999, 0.01  # from where a sample is at the edge, and the share of them that makes a recording clipped


@dataclass(frozen=True)
class Sound:
    """A recording that is not decoded yet: its seconds `first` to `last`, and the positions to hide in them."""

    value: str = field(repr=False)
    where: str
    first: float
    last: float
    hidden: tuple[int, ...] = ()

    @property
    def seconds(self) -> float:
        return self.last - self.first


class Audio(InFile):
    """A recording, decoded when a batch needs it."""

    kind: ClassVar[str] = "audio"
    noun: ClassVar[str] = "a recording"
    thing: ClassVar[str] = "recording"
    media: ClassVar[str] = "audio"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    objects: ClassVar[str] = "a mapping with array and sampling_rate"
    most_bytes: ClassVar[int] = REQUEST_BYTES
    request_bytes: ClassVar[int] = url_bytes(REQUEST_BYTES)
    shorten: ClassVar[str] = "send a shorter one"
    spoken: ClassVar[bool] = True
    headers: ClassVar[tuple[str, ...]] = (
        *("audio", "audio_path", "audio_filepath", "path", "file", "file_name", "filename", "wav", "recording"),
        "sound",
    )

    @ranged
    def __init__(
        self,
        rate: Annotated[int, Range(1_000, 48_000), "samples per second after resampling"] = 16_000,
        bands: Annotated[int, Range(4, 256), "mel bands of the spectrogram"] = 40,
        window: Annotated[float, Range(0.002, 0.2), "seconds of sound under each frame"] = 0.025,
        hop: Annotated[float, Range(0.002, 0.1), "seconds from one frame to the next"] = 0.01,
        normalise: Annotated[
            Normalise,
            "subtract the mean and divide by the standard deviation of the training set, or of each recording",
        ] = "set",
        max_seconds: Annotated[float, Range(0.1, 36_000), "longest recording, in seconds"] = 3_600.0,
        embed: Annotated[
            Spec, Of("fields.embed.frames.Frames"), "the convolutions that shorten the spectrogram, and augmentation"
        ] = PLAIN,
    ) -> None:
        self.rate, self.bands, self.normalise = rate, bands, normalise
        self.max_seconds, self.embed = max_seconds, table(embed)
        self.window, self.hop = max(1, round(window * rate)), max(1, round(hop * rate))
        self.mean, self.std = [0.0] * bands, [1.0] * bands
        self.notes = []
        self.step: int = self.hop * 2 ** self._frames().blocks  # samples of each position

    @property
    def seconds(self) -> float:
        """Of each position."""
        return self.step / self.rate

    def fit(self, values: Sequence[str]) -> None:
        bank, found, faults = filter_bank(self.rate, fft_size(self.window), self.bands), [], [0, 0]
        some = values[:: max(1, ceil(len(values) / SAMPLE))]
        for sound in readable(some, lambda value: samples(value, "", self.rate)):
            loudest = float(np.abs(sound).max())
            faults[0] += loudest < SILENT
            faults[1] += bool((np.abs(sound) > FULL).mean() > CLIPPED)
            if loudest >= SILENT:
                found.append(log_mel(torch.from_numpy(sound)[None], self.window, self.hop, bank)[0])
        if not found:
            raise RegardError("every recording is silent", expected="sound", do="look at how they were recorded")
        frames = torch.cat(found)
        self.mean, self.std = frames.mean(0).tolist(), frames.std(0).clamp(min=0.1).tolist()
        looked = f"of {counted(min(len(values), SAMPLE), 'recording')} looked at"
        self.notes = [
            f"{count:,} {looked} {'is' if count == 1 else 'are'} {fault}"
            for count, fault in zip(faults, ("silent", "clipped: too loud for the recorder"), strict=True)
            if count
        ]

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean, "std": self.std}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.mean, self.std = [[*map(float, state[name])] for name in ("mean", "std")]
        if not len(self.mean) == len(self.std) == self.bands:
            raise RegardError(f"{len(self.mean)} means and {len(self.std)} deviations", expected=f"{self.bands} bands")

    def encode(self, values: Sequence[str], where: Where, role: str = "recording") -> list[Sound]:
        """Only headers are read."""
        self.found(values, where)
        rows = []
        for value, at in zip(values, where, strict=True):
            seconds = header(value, at).seconds
            if seconds > self.max_seconds:
                raise RegardError(
                    f"{at}: a recording of {seconds:,.1f} s",
                    expected=f"at most {self.max_seconds:,g} s",
                    do=f"cut it, or train with {role}.max_seconds={ceil(seconds)}",
                )
            rows.append(Sound(value, at, 0.0, seconds))
        return rows

    def length(self, row: Sound) -> int:
        """Positions, from the seconds that the header tells."""
        return max(1, ceil(round(row.seconds * self.rate) / self.step))

    def collate(self, rows: Sequence[Sound]) -> Sequences:
        return self.padded(rows, [self.decoded(row) for row in rows])

    def decoded(self, row: Sound) -> Float[np.ndarray, " sample"]:
        """At the field's rate, of exactly the length that the header promised."""
        sound = samples(row.value, row.where, self.rate, row.first, row.last)
        wanted = max(1, round(row.seconds * self.rate))
        return np.pad(sound[:wanted], (0, max(0, wanted - len(sound))))

    def padded(self, rows: Sequence[Sound], sounds: Sequence[Float[np.ndarray, " _"]]) -> Sequences:
        lengths = torch.tensor([len(sound) for sound in sounds])
        values = np.zeros((len(sounds), int(lengths.max())), np.float32)
        for place, sound in enumerate(sounds):
            values[place, : len(sound)] = sound
        mask = torch.arange(values.shape[1])[None] < lengths[:, None]
        for place, row in enumerate(rows):
            for hidden in row.hidden:
                mask[place, hidden * self.step : (hidden + 1) * self.step] = False
        return Sequences(torch.from_numpy(values), mask, lengths)

    def embedding(self) -> Frames:
        return self._frames()

    def _frames(self) -> Frames:
        found: Frames = call(
            Frames,
            self.embed,
            rate=self.rate,
            bands=self.bands,
            window=self.window,
            hop=self.hop,
            mean=self.mean,
            std=self.std,
            normalise=self.normalise,
        )
        return found

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        return [self.intervals(row) for row in self.encode(values, [""] * len(values))]

    def intervals(self, row: Sound) -> tuple[Region, ...]:
        """What each position stands for; the last ends with the recording."""
        edges = [min(place * self.seconds, row.seconds) for place in range(self.length(row) + 1)]
        edges[-1] = row.seconds
        return tuple(Interval(row.first + a, row.first + b) for a, b in pairwise(edges))

    def source(self, value: str) -> str:
        return wav_url(samples(value, "", self.rate), self.rate)

    def drop(self, row: Sound, positions: Sequence[int]) -> Sound:
        """With these stretches of time set to the mean; their places stay."""
        self.droppable(positions, self.length(row), "position")
        return replace(row, hidden=(*row.hidden, *positions))

    def verify(self, value: str, where: str) -> None:
        self.encode([value], [where])

    def url_of(self, value: Any) -> str | None:
        if not isinstance(value, Mapping) or not {"array", "sampling_rate"} <= value.keys():
            return None
        return wav_url(np.asarray(value["array"], dtype=np.float32), int(value["sampling_rate"]))

    def sizes(self, values: Sequence[str]) -> dict[str, list[int]]:
        return {"milliseconds": [round(1000 * header(value, "").seconds) for value in values]}

    def profile(self, values: Sequence[str]) -> Profile:
        rows = self.encode(values, [""] * len(values))
        return Profile(sum(map(self.length, rows)) / max(1, len(rows)))


def pictured(value: str, bands: int = 64, most: int = 2_000) -> UInt8[np.ndarray, "band frame"]:
    """A spectrogram to look at: the louder the larger, from 0 to 255, with the lowest band last."""
    rate = header(value, "").rate
    sound = samples(value, "", rate)
    window, hop = round(0.025 * rate), max(round(0.005 * rate), ceil(len(sound) / most))
    bank = filter_bank(rate, fft_size(max(window, hop)), bands)
    frames = log_mel(torch.from_numpy(sound)[None], max(window, hop), hop, bank)[0].T.flip(0).numpy()
    low, high = np.quantile(frames, [0.1, 0.999])
    return np.asarray(255 * np.clip((frames - low) / max(high - low, 1e-6), 0, 1)).astype(np.uint8)
