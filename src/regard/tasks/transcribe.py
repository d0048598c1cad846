"""Speech to text: a recording → its transcript.

Without `--data` it learns to read Morse code by ear. The default is "Listen, Attend and Spell" (Chan et al. 2016) in
small: a log-mel spectrogram, convolutions that shorten it, a bidirectional LSTM, and a decoder that writes characters,
with location-aware attention (Chorowski et al. 2015) and CTC beside it (Kim et al. 2017; Watanabe et al. 2017). The
options give the models beside it:

    regard train transcribe                                                      # attention and CTC together
    regard train transcribe ctc_weight=1                                         # CTC alone
    regard train transcribe ctc_weight=0                                         # attention alone
    regard train transcribe encoder=transformer                                  # a Transformer over the same frames
    regard train transcribe ctc_weight=0 decoder=plain                           # no attention

A recording longer than `window` seconds is transcribed in windows that overlap, and joined at the quietest moment of
each overlap."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import nn

from regard.errors import RegardError, counted
from regard.fields import input_field, require
from regard.fields.audio import SILENT, Audio, Sound
from regard.find import PLAIN, In, Of, Spec
from regard.networks.encoder_decoder import EncoderDecoder
from regard.networks.global_fertility import must_look
from regard.networks.hard_attention import REINFORCE
from regard.networks.transcriber import Transcriber
from regard.predict.ctc import Ctc
from regard.ranges import NonNegative, Probability, Range, ranged
from regard.search import Hypothesis
from regard.tasks._generation import AXES, Generation
from regard.tasks._maps import attention_map
from regard.tasks._options import BestMetric, LabelSmoothing, Metrics, SampledAttention, Searching, Teaching
from regard.train.start import Starts
from regard.train.suggest import Recipe, speech
from regard.train.task import Ask, places
from regard.types import Example, Prediction

__all__ = ["Transcribe"]

AUDIO: Spec = {"name": "audio"}
TARGET: Spec = {"tokenizer": {"name": "character"}, "max_length": 1_000}
ENCODER: Spec = {"name": "bilstm", "hidden": 192, "layers": 2, "dropout": 0.2}
DECODER: Spec = {"name": "recurrent", "embed": 64, "hidden": 256, "dropout": 0.2}
ATTENTION: Spec = {"score": "additive", "normalizer": "softmax", "bias": ("location",)}
DRAWN = 8_000  # positions of a recording whose weights are drawn, at most
QUIET = 0.05  # seconds over which the quietest moment is sought


class Transcribe(Generation):
    """Speech to text: a recording in, its transcript out (Chorowski 2015, Kim 2017)."""

    name: ClassVar[str] = "transcribe"
    role: ClassVar[str] = "audio"
    starts: ClassVar[Starts | None] = Starts("audio")
    does: str = "Transcribes recordings."
    known: ClassVar[tuple[tuple[str, ...], ...]] = tuple(
        (audio, text)
        for audio in ("audio", "path", "file", "file_name", "audio_filepath")
        for text in ("text", "sentence", "transcription", "transcript")
    )
    default_data: ClassVar[str] = "builtin:morse"
    recipe: ClassVar[Recipe] = staticmethod(speech)
    preset: ClassVar[dict[str, Any]] = {
        "audio": {"name": "audio", "rate": 4_000, "bands": 24,
                  "embed": {"dim": 64, "channels": 8, "blocks": 3, "dropout": 0.0}},
        "target": {"tokenizer": {"name": "character"}},
        "encoder": {"name": "bigru", "hidden": 96, "layers": 1, "dropout": 0.0},
        "decoder": {"name": "recurrent", "embed": 48, "hidden": 128, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 64}, "bias": ("location",)},
        "ctc_weight": 0.5,
        "train": {"epochs": 8, "time": "170s", "batch_tokens": 0, "batch_size": 16, "lr": 4e-3, "warmup": 100,
                  "ema": 0.99, "workers": 0},
    }  # fmt: skip

    @ranged
    def __init__(
        self,
        audio: Annotated[
            Spec, In("fields"), "the recording: its sample rate, spectrogram, convolutions and augmentation"
        ] = AUDIO,
        target: Annotated[Spec, Of("fields.tokens.Tokens"), "the text: its tokenizer and longest length"] = TARGET,
        encoder: Annotated[Spec, In("encode"), "the encoder over the shortened frames"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the recording"] = ATTENTION,
        decoder: Annotated[Spec, In("predict.generate"), "the decoder that writes the text"] = DECODER,
        ctc_weight: Annotated[
            Probability, "weight of CTC in the loss and the search; 0 is attention alone, 1 is CTC alone"
        ] = 0.3,
        monotonic: Annotated[NonNegative, "weight of the penalty on attention that moves back in time"] = 0.0,
        window: Annotated[
            float, Range(1, 3_600), "seconds of a window; longer recordings are transcribed in several"
        ] = 30.0,
        overlap: Annotated[float, Range(0.1, 1_800), "seconds that two windows share; less than half a window"] = 4.0,
        search: Searching = "beam",
        metrics: Metrics = ("cer", "wer", "exact_match", "token_accuracy", "perplexity", "timing"),
        best_metric: BestMetric = "cer",
        label_smoothing: LabelSmoothing = 0.0,
        teach: Teaching = PLAIN,
        reinforce: SampledAttention = REINFORCE,
    ) -> None:
        field = require(input_field(audio, end=True), Audio, "audio")
        if overlap * 2 >= window:
            raise RegardError(f"overlap={overlap:g} with window={window:g}", expected="less than half a window")
        super().__init__(
            field, target, encoder, attention, decoder, search, metrics, best_metric, label_smoothing, teach,
            reinforce=reinforce,
        )  # fmt: skip
        self.ctc_weight, self.monotonic, self.window, self.overlap = ctc_weight, monotonic, window, overlap
        self.short = 0  # recordings with fewer positions than CTC needs

    @property
    def sound(self) -> Audio:
        return require(self.source, Audio, "audio")

    def room(self, source: int) -> int:
        """At most a token for each position, and the end."""
        return min(self.target.max_length, source + 2)

    def learn(self, examples: Sequence[Example]) -> None:
        super().learn(examples)
        items, short = self.items(examples), 0
        for item, example in zip(items, examples, strict=True):
            [row], tokens = item.inputs, item.target[:-1]
            if row.seconds > self.window:
                raise RegardError(
                    f"{example.where}: a recording of {row.seconds:,.1f} s to learn from",
                    expected=f"at most {self.window:g} s",
                    do=f"cut it, or train with window={ceil(row.seconds)}",
                )
            short += len(tokens) + sum(a == b for a, b in pairwise(tokens)) > item.lengths[0]
        self.short = short if self.ctc_weight else 0

    @property
    def notes(self) -> list[str]:
        few = f"{counted(self.short, 'recording')} too short for their text: CTC learns nothing from them"
        return [*super().notes, *([few] if self.short else [])]

    def network(self) -> Transcriber:
        parts = super().network()
        if self.monotonic:
            must_look(parts.decoder, f"monotonic={self.monotonic}")
        ctc = Ctc(len(self.target.text), parts.encoder.size) if self.ctc_weight else None
        return Transcriber(parts, ctc, self.ctc_weight, self.monotonic)

    # --- predictions -------------------------------------------------------------------------------------

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Predictions in the order of the recordings. In a silent one nothing is said."""
        assert isinstance(network, EncoderDecoder)
        at = places(texts, where)
        rows = [row for (row,) in self.rows(texts, ask, at)]
        long = [row.seconds > self.window for row in rows]
        silent = [not one and self._silent(row) for one, row in zip(long, rows, strict=True)]
        plain = [n for n in range(len(rows)) if not long[n] and not silent[n]]
        dropped = [ask.drop_tokens[n] for n in plain] if ask.drop_tokens else ()
        found = super().predict(
            network, [texts[n] for n in plain], replace(ask, drop_tokens=dropped), [at[n] for n in plain]
        )
        answers = dict(zip(plain, found, strict=True))
        for n, row in enumerate(rows):
            if silent[n]:
                answers[n] = Prediction("", 0.0, None, row.value, log_prob_per_token=0.0)
            elif long[n]:
                answers[n] = self._in_windows(network, row, ask)
        return [answers[n] for n in range(len(rows))]

    def _in_windows(self, network: EncoderDecoder, row: Sound, ask: Ask) -> Prediction:
        """The best transcript of a long recording. Of each window the tokens between its two cuts count."""
        if network.decoder.source_attention is None and not isinstance(network.decoder, Ctc):
            raise RegardError(
                f"{row.where}: {row.seconds:,.1f} s, and a decoder that does not tell when it hears what",
                expected=f"at most {self.window:g} s (window)",
                do="train with attention or ctc_weight=1",
            )
        pieces = self.windows(row)
        heard = [n for n, piece in enumerate(pieces) if not self._silent(piece)]
        every, _ = self.searched(network, [pieces[n] for n in heard], replace(ask, look=True, trace=False))
        found = dict(zip(heard, every, strict=True))
        cuts = [-np.inf, *(self._quietest(b.first, a.last, row) for a, b in pairwise(pieces))]
        tokens: list[int] = []
        kept: list[tuple[int, np.ndarray]] = []
        for n in heard:
            piece, best = pieces[n], found[n][0]
            weights = np.asarray(best.array)
            weights = weights.mean(0) if weights.ndim == 3 else weights
            middles = np.array([(one.start + one.end) / 2 for one in self.sound.intervals(piece)])  # type: ignore[union-attr]
            times = weights[:, : len(middles)] @ middles / np.maximum(weights[:, : len(middles)].sum(1), 1e-9)
            last = cuts[n + 1] if n + 1 < len(cuts) else np.inf
            first = round(piece.first / self.sound.seconds)
            for token, time, line in zip(best.tokens, times, weights, strict=True):
                if token != self.target.text.end and cuts[n] <= time < last:
                    tokens.append(token)
                    kept.append((first, line[: len(middles)]))
        log_prob = sum(best.log_prob for best, *_ in every)
        text, regions = self.target.text.written(tokens)
        columns = self.sound.intervals(row)
        look = None
        if ask.look and kept and len(columns) <= DRAWN:
            whole = np.zeros((len(kept), len(columns)), np.float32)
            for place, (first, line) in enumerate(kept):
                some = line[: len(columns) - first]
                whole[place, first : first + len(some)] = some
            one = Hypothesis(tuple(tokens), log_prob, log_prob, whole)
            drawn = self.sound.source(row.value)
            look = attention_map(one, tuple(regions), columns, self.sound.title(row.value), drawn, (), AXES)
        return Prediction(text, log_prob, look, row.value, log_prob_per_token=log_prob / max(len(tokens), 1))

    def windows(self, row: Sound) -> list[Sound]:
        """Overlapping windows of a recording, all but the last of equal length; each begins with a position."""
        step = self.sound.seconds
        window, hop = (max(1, round(s / step)) * step for s in (self.window, self.window - self.overlap))
        found, first = [], 0.0
        while first + window < row.last:
            found.append(replace(row, first=first, last=first + window, hidden=_inside(row, first, window, step)))
            first = round((first + hop) / step) * step
        return [*found, replace(row, first=first, hidden=_inside(row, first, window, step))]

    def _silent(self, row: Sound) -> bool:
        return float(np.abs(self.sound.decoded(row)).max()) < SILENT

    def _quietest(self, first: float, last: float, row: Sound) -> float:
        """The moment between two times at which there is least to hear."""
        sound = self.sound.decoded(replace(row, first=first, last=last))
        size = max(1, round(QUIET * self.sound.rate))
        loud = np.convolve(sound.astype(np.float64) ** 2, np.ones(size) / size, mode="same")
        return first + float(loud.argmin()) / self.sound.rate


def _inside(row: Sound, first: float, window: float, step: float) -> tuple[int, ...]:
    """The hidden positions of a recording that a window has, counted from its own beginning."""
    begin, count = round(first / step), round(window / step)
    return tuple(place - begin for place in row.hidden if 0 <= place - begin < count)
