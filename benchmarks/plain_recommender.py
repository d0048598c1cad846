"""SASRec as people write it by hand in PyTorch: for benchmarks/recommend.py to be compared with.

Left-padded histories, `nn.TransformerEncoder`, one negative for each item drawn in a loop until it is one that the user
has not had, and a ranking for one user after the other.
"""

import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn

__all__ = ["PlainSasrec", "batch_of", "rank_all"]


class PlainSasrec(nn.Module):
    """Items are numbered from 1; 0 is padding."""

    def __init__(self, items: int, size: int, layers: int, heads: int, longest: int, dropout: float) -> None:
        super().__init__()
        self.items = nn.Embedding(items + 1, size, padding_idx=0)
        self.places = nn.Embedding(longest, size)
        self.dropout = nn.Dropout(dropout)
        layer = nn.TransformerEncoderLayer(size, heads, size, dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(size)
        self.longest = longest

    def forward(self, history: Tensor) -> Tensor:
        time = history.shape[1]
        x = self.items(history) * self.items.embedding_dim**0.5 + self.places(torch.arange(time))
        causal = torch.triu(torch.ones(time, time, dtype=torch.bool), 1)
        return self.norm(self.encoder(self.dropout(x), mask=causal))  # type: ignore[no-any-return]

    def loss(self, history: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        h = self(history)
        there = positive > 0
        logits = [(h * self.items(one)).sum(-1)[there] for one in (positive, negative)]
        criterion = nn.BCEWithLogitsLoss()
        return criterion(logits[0], torch.ones_like(logits[0])) + criterion(logits[1], torch.zeros_like(logits[1]))


def batch_of(histories: Sequence[Sequence[int]], items: int, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Each history up to its last item, what follows each item, and a negative for each."""
    rows = []
    for whole in histories:
        had = set(whole)
        history, positive, negative = [0] * longest, [0] * longest, [0] * longest
        place = longest - 1
        for item, following in zip(reversed(whole[:-1]), reversed(whole[1:]), strict=True):
            history[place], positive[place] = item, following
            other = random.randint(1, items)
            while other in had:
                other = random.randint(1, items)
            negative[place] = other
            place -= 1
            if place < 0:
                break
        rows.append((history, positive, negative))
    return tuple(map(torch.tensor, zip(*rows, strict=True)))  # type: ignore[return-value]


@torch.no_grad()
def rank_all(model: PlainSasrec, histories: Sequence[Sequence[int]], targets: Sequence[int]) -> list[int]:
    """The place of each target among all items that the user has not had."""
    model.eval()
    places = []
    for history, target in zip(histories, targets, strict=True):
        recent = list(history[-model.longest :])
        read = torch.tensor([[0] * (model.longest - len(recent)) + recent])
        scores = model.items.weight @ model(read)[0, -1]
        for item in (0, *history):
            scores[item] = -torch.inf
        places.append(int((scores.argsort(descending=True) == target).nonzero()))
    return places
