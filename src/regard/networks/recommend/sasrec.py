"""SASRec: a causal Transformer over the history that predicts the next item at each position.

    h = Transformer(E[s_1], …, E[s_n]),      score of item i after s_1 … s_t = h_t · E[i]

Kang & McAuley 2018, "Self-Attentive Sequential Recommendation", section III: item vectors plus learned positions, two
blocks, the item vectors shared between input and output, and every prefix of a history a training example. Differences:
the blocks are `regard.attend.block` (pre-norm for queries, keys and values alike), and positions count from the first
item that is read, not back from the last. As in the paper the loss may be `binary` with one negative; the default is
the full softmax, which learns faster wherever all items fit into a batch.

    Sasrec(embed, layers=2).direct(histories, items)
"""

from typing import Annotated, Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attend.attention import Attention
from regard.attend.layers import Layers
from regard.encode.transformer import Transformer
from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.networks.recommend import Loss, Recommender, Taught, recent
from regard.ranges import Depth, Dropout, Few, Length, Number, WidthOrNone, ranged
from regard.types import Look, Memory, Sequences

__all__ = ["Sasrec"]

TOGETHER = 64  # histories that are read at once where many are ranked


class Sasrec(Layers, Recommender):
    """Self-attentive sequence model: a causal Transformer over the history (Kang & McAuley 2018)."""

    @ranged
    def __init__(
        self,
        embed: Words,
        layers: Annotated[Depth, "number of layers"] = 2,
        heads: Annotated[Few, "attention heads in each layer; they must divide history.embed.dim"] = 1,
        ffn: Annotated[WidthOrNone, "units of the feed-forward layer; 0 takes history.embed.dim"] = 0,
        dropout: Annotated[Dropout, "dropout on the item vectors and in each layer"] = 0.2,
        max_length: Annotated[Length, "most recent items that are read"] = 200,
        loss: Annotated[
            Loss, "loss against sampled negatives (binary, sampled_softmax) or against all items (softmax)"
        ] = "softmax",
        negatives: Annotated[Number, "items drawn as negatives for each positive (not for loss=softmax)"] = 1,
    ) -> None:
        super().__init__()
        self.embed, self.loss, self.negatives, self.max_length = embed, loss, negatives, max_length
        self.encoder = Transformer(
            embed.size, embed.size, layers, heads, ffn or embed.size, dropout, "learned", max_length, causal=True
        )

        self.look: str | int = "last"

    @property
    def blocks(self) -> Any:
        return self.encoder.blocks

    def looking(self, block: Any) -> Attention:
        return block.attending.attention  # type: ignore[no-any-return]

    def read(self, history: Sequences) -> tuple[Memory, Float[Tensor, "batch size"]]:
        """All states, and the last of each history."""
        memory: Memory = self.encoder(self.embed(history))
        last = (history.mask.sum(-1) - 1).clamp(min=0)
        h = memory.values.gather(1, last[:, None, None].expand(-1, 1, memory.values.shape[-1])).squeeze(1)
        return memory, h

    def taught(self, whole: Sequences, negatives: Int[Tensor, "batch time other"] | None) -> Taught:
        """Each item but the first, from those before it."""
        ids, mask = whole.values, whole.mask
        before = Sequences(ids[:, :-1], mask[:, 1:], (whole.lengths - 1).clamp(min=0))
        h = self.read(before)[0].values[before.mask]
        target = ids[:, 1:][before.mask]
        if negatives is None:
            every = h @ self.embed.learned[FIRST:].T
            return Taught(every=every, target=target - FIRST)
        positive = (h * self.embed.learned[target]).sum(-1)
        others = self.embed.learned[negatives[:, 1:][before.mask]]
        return Taught(positive, torch.einsum("id,ind->in", h, others))

    def state(self, history: Sequences) -> Float[Tensor, "batch size"]:
        """Read some at a time, those of like length together, for most histories are far shorter than the longest."""
        some = recent(history, self.max_length)
        found = self.embed.learned.new_zeros(len(some.lengths), self.embed.size)
        for rows in torch.split(some.lengths.argsort(descending=True), TOGETHER):
            part, end = some.select(rows), max(1, int(some.lengths[rows].max()))
            cut = Sequences(part.values[:, :end], part.mask[:, :end], part.lengths)
            found[rows.to(found.device)] = self.read(cut)[1].to(found.dtype)
        return found

    def scores(self, state: Float[Tensor, "batch size"], first: int, last: int) -> Float[Tensor, "batch candidate"]:
        return state @ self.embed.learned[FIRST + first : FIRST + last].T

    def direct(self, history: Sequences, items: Int[Tensor, "batch candidate"]) -> Float[Tensor, "batch candidate"]:
        h = self.read(recent(history, self.max_length))[1]
        return torch.einsum("bd,bcd->bc", h, self.embed.learned[items])

    def looked(self, history: Sequences, items: Int[Tensor, "batch candidate"]) -> Look:
        """From the last item of each history, in the layers that are shown; the same for every candidate."""
        some = recent(history, self.max_length)
        memory, h = self.read(some)
        look, last = self.shown([one for _, one in memory.looks]), (some.mask.sum(-1) - 1).clamp(min=0)

        def weights() -> Tensor:
            every = look.weights
            return every.gather(2, last[:, None, None, None].expand(-1, every.shape[1], 1, every.shape[-1]))

        return Look(h.unsqueeze(1), weights)
