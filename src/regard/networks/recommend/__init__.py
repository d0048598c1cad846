"""Recommenders: networks that score items, given the items in a user's history. One module per network.

Training sees whole histories. Each network says which of their items it predicts from which others (`taught`); the loss
is the same for all, with the items that a user has had as positives:

    binary             −log σ(s⁺) − Σ_n log σ(−s_n)                 n: `negatives` items that the user has not had
    sampled_softmax    −log exp(s⁺) / (exp(s⁺) + Σ_n exp(s_n))
    softmax            −log exp(s⁺) / Σ_i exp(s_i)                  i: all items

Negatives are drawn uniformly and anew at each step (`unseen`). In evaluation the loss is the softmax over all items, of
the last item only, for it draws nothing.

    network.scores(network.state(history), 0, 1000)      # [batch, 1000]: scores of the first thousand items
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, pad, softplus

from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.types import Batch, Look, Network, Output, Sequences, wide

__all__ = ["Loss", "Recommender", "Taught", "joined", "recent", "unseen"]

Loss = Literal["binary", "sampled_softmax", "softmax"]


@dataclass(frozen=True)
class Taught:
    """Scores of what is to be predicted: of each positive and its negatives, or of all items."""

    positive: Float[Tensor, " item"] | None = None
    negative: Float[Tensor, "item other"] | None = None
    every: Float[Tensor, "item candidate"] | None = None  # with `target`, their places in it
    target: Int[Tensor, " item"] | None = None


class Recommender(Network):
    """The interface of a recommender. Items have the numbers from `FIRST` on; candidates are counted from 0."""

    losses: ClassVar[tuple[Loss, ...]] = ("binary", "sampled_softmax", "softmax")
    embed: Words
    loss: Loss
    negatives: int
    max_length: int

    @property
    def head_names(self) -> tuple[str, ...]:
        """Of what `looked` shows, where its heads have more than a number."""
        return ()

    @property
    def candidates(self) -> int:
        """How many items there are."""
        return self.embed.vocab - FIRST

    @property
    def wide(self) -> bool:
        """Half precision does not pay: most of the time goes into small products."""
        return False

    @abstractmethod
    def taught(self, whole: Sequences, negatives: Int[Tensor, "batch time other"] | None) -> Taught:
        """The scores of all that is to be predicted in some histories; negatives are None for the full softmax."""

    @abstractmethod
    def state(self, history: Sequences) -> Any:
        """What the scores of these users need."""

    @abstractmethod
    def scores(self, state: Any, first: int, last: int) -> Float[Tensor, "batch candidate"]:
        """The scores of the candidates from `first` to `last` (excluded)."""

    @abstractmethod
    def direct(self, history: Sequences, items: Int[Tensor, "batch candidate"]) -> Float[Tensor, "batch candidate"]:
        """The scores of some candidates, by their item numbers."""

    @abstractmethod
    def looked(self, history: Sequences, items: Int[Tensor, "batch candidate"]) -> Look:
        """Where it looks for these candidates, in the most recent `max_length` items: a query for each candidate, or a
        single one where they share it."""

    def chance(self, scores: Tensor, total: Tensor) -> Tensor:
        """Log-probabilities of scores; `total` is the log of the sum of `exp` over all candidates."""
        return -softplus(-scores) if self.loss == "binary" else scores - total

    def forward(self, batch: Batch, progress: float = 1.0) -> Output:
        """The loss of all items that are predicted; in evaluation of the last one of each history."""
        history, target = batch.source, batch.target
        assert isinstance(history, Sequences)
        assert isinstance(target, Tensor)
        if not self.training:
            every = torch.arange(FIRST, self.embed.vocab, device=target.device).expand(len(target), -1)
            known = target >= FIRST
            nats = cross_entropy(
                wide(self.direct(history, every)), (target - FIRST).clamp(min=0), reduction="none"
            ).masked_fill(~known, 0.0)
            return Output(nats.sum(), len(target))
        whole = joined(history, target)
        negatives = None
        if self.loss != "softmax":
            shape = (*whole.values.shape, self.negatives)
            negatives = unseen(whole, shape, self.candidates)
        taught = self.taught(recent(whole, self.max_length + 1), _last(negatives, whole, self.max_length + 1))
        if taught.every is not None:
            assert taught.target is not None
            nats = cross_entropy(wide(taught.every), taught.target, reduction="none")
        else:
            assert taught.positive is not None
            assert taught.negative is not None
            if self.loss == "binary":
                nats = softplus(-wide(taught.positive)) + softplus(wide(taught.negative)).sum(-1)
            else:
                both = torch.cat([taught.positive.unsqueeze(-1), taught.negative], -1)
                nats = -torch.log_softmax(wide(both), -1)[..., 0]
        return Output(nats.sum(), max(1, len(nats)))


def joined(history: Sequences, target: Int[Tensor, " batch"]) -> Sequences:
    """Histories with the item that follows each; one that is not known is left out."""
    known = target >= FIRST
    values = pad(history.values, (0, 1))
    places = history.mask.sum(-1)
    values = values.scatter(1, places.unsqueeze(-1), torch.where(known, target, 0).unsqueeze(-1))
    lengths = history.lengths + known.to(history.lengths.device)
    mask = torch.arange(values.shape[1], device=values.device)[None, :] < (places + known)[:, None]
    return Sequences(values, mask, lengths)


def recent(history: Sequences, most: int) -> Sequences:
    """The last so many items of each history."""
    if history.values.shape[1] <= most:
        return history
    values = _last(history.values.unsqueeze(-1), history, most)
    assert values is not None
    lengths = history.lengths.clamp(max=most)
    mask = torch.arange(most, device=values.device)[None, :] < history.mask.sum(-1, keepdim=True).clamp(max=most)
    return Sequences(values.squeeze(-1).masked_fill(~mask, 0), mask, lengths)


def _last(values: Tensor | None, history: Sequences, most: int) -> Tensor | None:
    """Of what belongs to each item of a history that which belongs to the last ones."""
    if values is None or values.shape[1] <= most:
        return values
    first = (history.mask.sum(-1, keepdim=True) - most).clamp(min=0)
    places = first + torch.arange(most, device=values.device)
    return values.gather(1, places.unsqueeze(-1).expand(-1, -1, values.shape[-1]))


def unseen(
    history: Sequences, shape: tuple[int, int, int], candidates: int, generator: torch.Generator | None = None
) -> Int[Tensor, "batch time other"]:
    """Items drawn uniformly from those that are not in a history, without trying again.

    With the m different items of a history in order, c_1 < … < c_m (counted from 0), the r-th item that is not among
    them is `r + #{i : c_i − (i − 1) ≤ r}`, for r from 0 to `candidates − m − 1`.
    """
    far = candidates + history.values.shape[1]  # beyond every item, and rising
    c = (history.values - FIRST).masked_fill(~history.mask, far).sort(-1).values
    c = c.masked_fill(pad(c[:, 1:] == c[:, :-1], (1, 0)), far).sort(-1).values  # each once
    count = (c < far).sum(-1)
    gaps = (c - torch.arange(c.shape[-1], device=c.device)).masked_fill(c == far, far)
    room = (candidates - count).clamp(min=1).unsqueeze(-1)  # a history that has every item is refused before
    r = torch.randint(2**62, (shape[0], shape[1] * shape[2]), device=c.device, generator=generator) % room
    found = r + torch.searchsorted(gaps, r, right=True)
    return found.clamp(max=candidates - 1).view(shape) + FIRST
