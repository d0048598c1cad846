"""Decoder training: teacher forcing, scheduled sampling, word dropout and source noise.

Teacher forcing shows a decoder the true tokens before each one it must say; left alone it reads its own. Scheduled
sampling (Bengio, Vinyals, Jaitly & Shazeer 2015, "Scheduled Sampling for Sequence Prediction with Recurrent Neural
Networks", section 2.4) shows the truth with a chance ε that falls on the way, and else what the model would have said:

    linear       ε = 1 − (1 − min_truth)·p       p is the share of the training that is done, and at p = 1 every
    exponential  ε = min_truth^p                 decay has come to `min_truth`
    inverse      ε = 1/(1 + exp((p − ½)/κ))      an inverse sigmoid between 1 and min_truth, κ = 0.1: slow at both ends

A decoder that reads all tokens at once is taught in two passes: one under the truth, whose likeliest tokens stand in
for some of the true ones in the second (Mihaylova & Martins 2019, "Scheduled Sampling for Transformers", section 3).
One that steps is taught step by step.

`word_dropout` hides words the decoder has said before (Bowman et al. 2016, "Generating Sentences from a Continuous
Space", section 3.1), and the source may be disturbed: words left out, replaced at random, or moved up to three places
(Lample, Conneau, Denoyer & Ranzato 2018, "Unsupervised Machine Translation Using Monolingual Corpora Only", section
2.3).

    Teach(scheduled_sampling="linear", min_truth=0.7)
"""

import math
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.ranges import BelowOne, Range, ranged
from regard.text import Tokenizer
from regard.types import Look, Memory, Progress, Sequences

__all__ = ["CHANCES", "Teach", "disturbed", "truth"]

Sampling = Literal["none", "linear", "exponential", "inverse"]
CHANCES = ("word_dropout", "source_dropout", "source_replace", "source_swap")
KAPPA = 0.1
FAR = 3  # places a word may move


def truth(scheduled_sampling: Sampling, min_truth: float, progress: float) -> float:
    """ε: the chance that the true token is shown."""
    if scheduled_sampling == "none":
        return 1.0
    if scheduled_sampling == "linear":
        return 1 - (1 - min_truth) * progress
    if scheduled_sampling == "exponential":
        return float(min_truth**progress)
    first, last, now = (1 / (1 + math.exp((p - 0.5) / KAPPA)) for p in (0.0, 1.0, progress))
    return min_truth + (1 - min_truth) * (now - last) / (first - last)


def disturbed(
    source: Sequences, vocab: int, source_dropout: float, source_replace: float, source_swap: float
) -> Sequences:
    """The source with words replaced, moved and left out; its end stays, and so does at least one word."""
    values, mask = source.values, source.mask
    words = mask & (values != Tokenizer.end)
    if source_replace:
        strange = torch.randint(4, max(vocab, 5), values.shape, device=values.device)
        values = torch.where(words & (torch.rand(values.shape, device=values.device) < source_replace), strange, values)
    if source_swap:
        place = torch.arange(values.shape[1], device=values.device).float()
        moved = (torch.rand(values.shape, device=values.device) < source_swap) & words
        order = (place + torch.rand(values.shape, device=values.device) * (FAR + 1) * moved).masked_fill(
            ~words, float("inf")
        )
        values = values.gather(1, order.argsort(dim=-1, stable=True))
    if not source_dropout:
        return Sequences(values, mask, source.lengths)
    first = words & (words.cumsum(-1) == 1)
    kept = mask & (~words | first | (torch.rand(values.shape, device=values.device) >= source_dropout))
    values = values.gather(1, (~kept).int().argsort(dim=-1, stable=True))
    lengths = kept.sum(-1)
    there = torch.arange(values.shape[1], device=values.device) < lengths[:, None]
    return Sequences(values.masked_fill(~there, Tokenizer.pad), there, lengths.cpu())


class Teach:
    """Teacher forcing by default; options add scheduled sampling, word dropout and source noise"""

    @ranged
    def __init__(
        self,
        scheduled_sampling: Annotated[
            Sampling, "how the probability of feeding the true token falls from 1 to min_truth"
        ] = "none",
        min_truth: Annotated[
            float, Range(0, 1, above=True), "probability of feeding the true token at the end of training"
        ] = 0.5,
        word_dropout: Annotated[BelowOne, "probability that a token fed to the decoder becomes <unk>"] = 0.0,
        source_dropout: Annotated[BelowOne, "probability of dropping a source token"] = 0.0,
        source_replace: Annotated[BelowOne, "probability of replacing a source token by a random one"] = 0.0,
        source_swap: Annotated[BelowOne, "probability of moving a source token, by up to three positions"] = 0.0,
    ) -> None:
        self.scheduled_sampling, self.min_truth, self.word_dropout = scheduled_sampling, min_truth, word_dropout
        self.source_dropout, self.source_replace, self.source_swap = source_dropout, source_replace, source_swap

    @property
    def disturbs(self) -> bool:
        """Whether the tokens of the source are changed."""
        return bool(self.source_dropout or self.source_replace or self.source_swap)

    def source(self, source: Any, vocab: int) -> Any:
        """What the encoder reads."""
        if not self.disturbs:
            return source
        return disturbed(source, vocab, self.source_dropout, self.source_replace, self.source_swap)

    def unroll(
        self, decoder: Any, memory: Memory, before: Int[Tensor, "batch time"], progress: Progress
    ) -> tuple[Look, Float[Tensor, "batch time vocab"], dict[str, float]]:
        """After what the decoder was shown: where it looked, the logits of every token, and what is worth a note."""
        sampled = self.scheduled_sampling != "none"
        epsilon = truth(self.scheduled_sampling, self.min_truth, float(progress)) if sampled else 1.0
        notes = {"truth": epsilon} if sampled else {}
        notes |= {name: chance for name in CHANCES if (chance := getattr(self, name))}
        shown = self._blanked(before)
        if epsilon >= 1:
            return *decoder.unroll(memory, shown), notes
        if not decoder.parallel:
            return *self._by_steps(decoder, memory, shown, epsilon), notes
        with torch.no_grad():
            said = decoder.unroll(memory, shown)[1].argmax(-1)
        own = torch.cat([before[:, :1], said[:, :-1]], 1)
        keep = torch.rand(before.shape, device=before.device) < epsilon
        keep[:, 0] = True
        return *decoder.unroll(memory, torch.where(keep | (before == Tokenizer.pad), shown, own)), notes

    def _blanked(self, before: Int[Tensor, "batch time"]) -> Int[Tensor, "batch time"]:
        if not self.word_dropout:
            return before
        hidden = (torch.rand(before.shape, device=before.device) < self.word_dropout) & (before >= 4)
        return before.masked_fill(hidden, Tokenizer.unknown)

    def _by_steps(
        self, decoder: Any, memory: Memory, before: Int[Tensor, "batch time"], epsilon: float
    ) -> tuple[Look, Float[Tensor, "batch time vocab"]]:
        state, looks, found = decoder.start(memory), [], []
        token = before[:, :1]
        for step in range(before.shape[1]):
            state, look, logits = decoder.step(state, token)
            looks.append(look)
            found.append(logits)
            if step + 1 < before.shape[1]:
                true = before[:, step + 1 : step + 2]
                keep = (torch.rand(true.shape, device=true.device) < epsilon) | (true == Tokenizer.pad)
                token = torch.where(keep, true, logits.detach().argmax(-1))
        return Look.join(looks), torch.cat(found, 1)
