"""NAIS: the similarity of a candidate to each item of a history, weighted by the candidate's attention to them.

    score of item i = b_i + p_iᵀ Σ_j a_ij q_j,     a_ij = exp(f(p_i, q_j)) / (Σ_j exp f(p_i, q_j))^β
    f(p, q) = hᵀ ReLU(W (p ⊙ q) + b)

He et al. 2018, "NAIS: Neural Attentive Item Similarity Model for Recommendation", section 4: NAIS-prod, β = 0.5, four
negatives for each positive, and each item of a history predicted from all the others. The bias b_i of an item is in the
authors' code. Differences: no pre-training by FISM, and AdamW in place of Adagrad. The order of a history has no part
in it.

**All items at once.** f(p_i, q_j) and p_i · q_j belong to a pair of items, whoever the user is. So for a few candidates
at a time both are worked out once for all items that occur in any history, and the scores of all users are sums of rows
of these tables (`scores`). `direct` does the same pair by pair, as the equations say.

    Nais(embed, hidden=16).direct(histories, items)
"""

from typing import Annotated, Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from regard.attend.attention import Attention
from regard.attend.normalizer.smoothed import Smoothed
from regard.attend.score.gated_product import GatedProduct
from regard.errors import RegardError
from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.networks.recommend import Loss, Recommender, Taught, recent
from regard.ranges import Length, Number, Probability, Width, ranged
from regard.types import Look, Sequences

__all__ = ["Nais"]

NUMBERS = 2**23  # in the largest array that is held at once


class Pairs(NamedTuple):
    """The histories of some users: the different items in them, and which of these each user has."""

    items: Int[Tensor, " item"]
    places: Int[Tensor, " all"]  # in `items`, user after user
    starts: Int[Tensor, " batch"]


class Nais(Recommender):
    """Neural attentive item similarity: attention from a candidate to the history (He et al. 2018)."""

    losses = ("binary", "sampled_softmax")

    @ranged
    def __init__(
        self,
        embed: Words,
        hidden: Annotated[Width, "units of the layer that compares two items"] = 16,
        beta: Annotated[Probability, "exponent of the sum in the weights: 1 is softmax"] = 0.5,
        bias: Annotated[bool, "learn a bias for each item, which captures its popularity"] = True,
        max_length: Annotated[Length, "most recent items that are read"] = 500,
        loss: Annotated[Loss, "loss against sampled negatives: binary or sampled_softmax"] = "binary",
        negatives: Annotated[Number, "items drawn as negatives for each positive"] = 4,
    ) -> None:
        super().__init__()
        if loss not in self.losses:
            raise RegardError(
                f"network.loss={loss} for nais", expected=" or ".join(self.losses), do="or use network=sasrec"
            )
        self.embed, self.loss, self.negatives, self.max_length = embed, loss, negatives, max_length
        self.p = nn.Parameter(embed.learned.detach().clone().normal_(std=embed.size**-0.5))
        self.attention = Attention(GatedProduct(embed.size, embed.size, hidden), Smoothed(beta))
        self.beta = beta
        self.b = nn.Parameter(torch.zeros(embed.vocab)) if bias else None

    def _read(
        self,
        history: Sequences,
        items: Int[Tensor, "batch candidate"],
        seen: Bool[Tensor, "batch candidate key"] | None = None,
    ) -> tuple[Float[Tensor, "batch candidate"], Look]:
        """Scores of candidates, and where they look; `seen` hides keys from single candidates."""
        p = self.p[items]
        q = self.embed(history).values
        look = self.attention(p, self.attention.prepare(q, mask=history.mask), mask=seen)
        scores = (p * look.context).sum(-1)
        return scores if self.b is None else scores + self.b[items], look

    def taught(self, whole: Sequences, negatives: Int[Tensor, "batch time other"] | None) -> Taught:
        """Each item from all the others of the history."""
        assert negatives is not None
        ids, count = whole.values, negatives.shape[-1] + 1
        items = torch.cat([ids.unsqueeze(-1), negatives], -1)
        others = ids.unsqueeze(1) != ids.unsqueeze(2)  # [batch, target, key]
        seen = others.unsqueeze(2).expand(-1, -1, count, -1).flatten(1, 2)
        scores, _ = self._read(whole, items.flatten(1), seen)
        each = scores.view(*ids.shape, count)[whole.mask & (whole.mask.sum(-1, keepdim=True) > 1)]
        return Taught(each[:, 0], each[:, 1:])

    def direct(self, history: Sequences, items: Int[Tensor, "batch candidate"]) -> Float[Tensor, "batch candidate"]:
        return self._read(recent(history, self.max_length), items)[0]

    def looked(self, history: Sequences, items: Int[Tensor, "batch candidate"]) -> Look:
        return self._read(recent(history, self.max_length), items)[1]

    def state(self, history: Sequences) -> Pairs:
        some = recent(history, self.max_length)
        items, places = torch.unique(some.values[some.mask], return_inverse=True)
        lengths = some.mask.sum(-1)
        return Pairs(items, places, lengths.cumsum(0) - lengths)

    def scores(self, state: Any, first: int, last: int) -> Float[Tensor, "batch candidate"]:
        items, places, starts = state
        parts = []
        step = max(1, NUMBERS // max(1, len(items)))  # candidates at a time
        for begin in range(first, last, step):
            p = self.p[FIRST + begin : FIRST + min(begin + step, last)]
            energies, products = self._tables(items, p)
            top = energies.amax(0, keepdim=True) if len(items) else energies.new_zeros(1, len(p))
            weights = (energies - top).exp()
            above, below = (embedding_bag(places, table, starts, mode="sum") for table in (weights * products, weights))
            # exp(e − top) / (Σ exp(e − top))^β, times exp(top (1 − β))
            parts.append(above * below.clamp(min=1e-30) ** -self.beta * (top * (1 - self.beta)).exp())
        scores = torch.cat(parts, 1) if parts else self.p.new_zeros(len(starts), 0)
        return scores if self.b is None else scores + self.b[FIRST + first : FIRST + last]

    def _tables(
        self, items: Int[Tensor, " item"], p: Float[Tensor, "candidate size"]
    ) -> tuple[Float[Tensor, "item candidate"], Float[Tensor, "item candidate"]]:
        """f(p_i, q_j) and p_i · q_j for each item j and candidate i."""
        q = self.embed.learned[items]
        score, each = self.attention.score, list[Tensor]()
        assert isinstance(score, GatedProduct)
        for some in torch.split(q, max(1, NUMBERS // max(1, len(p) * len(score.h)))):
            # `scores` wants queries first: here these are the items, for the product is the same either way.
            each.append(score.scores(some, p))
        return torch.cat(each) if each else q.new_zeros(0, len(p)), q @ p.T
