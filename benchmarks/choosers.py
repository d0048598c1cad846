"""Fixed choosers, to compare a learned choice with: the same ReSAN, but nobody learns which tokens it selects.

random      the tokens of each sentence with the highest random numbers, drawn anew at each reading
frequency   its rarest words, counted in the training data
soft        its tokens with the largest weights in the pooling of the same model, as it was at the end of the first
            phase, in which all tokens are read

Each selects the same share of every sentence, to the nearest token and at least one, for heads and dependents alike.

    Fixed.kind, Fixed.share = "frequency", 0.5
    regard.train("choosers.FixedEntail", …)
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from regard.attend.bernoulli import heaviest
from regard.attend.bernoulli import share as share_of
from regard.attend.estimator import Gates
from regard.encode.disan import Disan
from regard.networks.reader import Reader, stacked
from regard.tasks.entail import Entail
from regard.tasks.relate import Relate
from regard.types import Example, Memory, Sequences

KINDS = ("random", "frequency", "soft")


class Fixed:
    """What is chosen by in this process, and which share."""

    kind: ClassVar[str] = "random"
    share: ClassVar[float] = 0.5


@dataclass(frozen=True)
class Tagged(Sequences):
    """Word vectors that remember their words."""

    ids: Tensor | None = None


def fixed(logits: Tensor, mask: Tensor, scores: Tensor, share: float) -> Gates:
    """The tokens of each row with the highest scores, for all policies alike."""
    chosen = heaviest(scores, mask, share)
    nothing = logits.sum(-1) * 0  # a policy that is taught nothing
    of_each = share_of(chosen, mask).expand_as(nothing)
    return Gates(chosen.expand_as(logits), nothing, nothing, of_each + nothing)


class FixedReader(Reader):
    counts: Tensor

    def begin(self, counts: Tensor) -> "FixedReader":
        self.register_buffer("counts", counts)
        self.teacher: list[Reader] = []  # in a list: no part of this network
        return self

    def vectors(self, inputs: Sequence[Any]) -> Sequences:
        found = super().vectors(inputs)
        ids = stacked([Sequences(one.values.unsqueeze(-1), one.mask, one.lengths) for one in inputs])
        return Tagged(found.values, found.mask, found.lengths, ids.values.squeeze(-1))

    def encoded(
        self, words: Sequences, sides: int = 1, progress: float = 1.0, copies: int = 1, narrow: bool = False
    ) -> Memory:
        phase = self.encoder.phase(progress)
        assert isinstance(words, Tagged)
        assert words.ids is not None
        if phase == "supervised" and self.training:
            return self.encoder(words, phase)  # type: ignore[no-any-return]
        draw = partial(fixed, scores=self.scores(words.ids, words), share=Fixed.share)
        return self.encoder(words, phase, draw, narrow)  # type: ignore[no-any-return]

    @torch.no_grad()
    def scores(self, ids: Tensor, words: Sequences) -> Tensor:
        if Fixed.kind == "random":
            return torch.rand(ids.shape, device=ids.device)
        if Fixed.kind == "frequency":
            return -self.counts[ids].float()
        if not self.teacher:
            if not self.training:  # validated before there is a teacher: by the weights as they are
                return self._weights(self, ids, words)
            self.teacher.append(copy.deepcopy(self).eval())
        return self._weights(self.teacher[0], ids, words)

    def _weights(self, reader: Reader, ids: Tensor, words: Sequences) -> Tensor:
        """Of the pooling over all tokens, the mean of its features."""
        vectors = reader.embed(Sequences(ids, words.mask, words.lengths))
        training = reader.training
        reader.eval()
        memory = Disan.forward(reader.encoder, vectors)  # type: ignore[arg-type]
        assert reader.pool is not None
        look = reader.pool(memory).look
        reader.train(training)
        return look.by_key.mean(1)  # type: ignore[no-any-return]


class _Fixed:
    """A task whose network chooses by what `Fixed` says."""

    counts: Tensor

    def learn(self, examples: Sequence[Example]) -> None:
        super().learn(examples)  # type: ignore[misc]
        [field, *_] = self.inputs.values()  # type: ignore[attr-defined]
        texts = [text for example in examples for text in example.inputs]
        rows = field.encode(texts, [""] * len(texts), "input")
        every = torch.tensor([number for row in rows for number in row])
        self.counts = torch.bincount(every, minlength=len(field.text))
        self.counts[field.text.unknown] = 0  # what is not known is rare

    def network(self) -> Reader:
        base = super().network()  # type: ignore[misc]
        parts = (base.embed, base.encoder, base.pool, base.match, base.head, base.reinforce, base.dropout.p)
        return FixedReader(*parts, base.sparsity, base.estimator).begin(self.counts)


class FixedEntail(_Fixed, Entail):
    """Inference with a fixed choice."""


class FixedRelate(_Fixed, Relate):
    """Similarity with a fixed choice."""
