"""Show, Attend and Tell as PyTorch tutorials write it: an LSTMCell in a loop over the words, all anew at each one.

It computes what `regard train caption` computes by default (soft attention, gate, deep output, doubly stochastic
penalty, first states from the mean of the annotations) on the same features and captions; benchmarks/caption.py times
both.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

__all__ = ["PlainCaption"]


class PlainCaption(nn.Module):
    """Features `[batch, place, channel]` and captions `[batch, time]` (the start first) → the loss of a word."""

    def __init__(self, vocab: int, channels: int, dim: int, embed: int, hidden: int, attention: int) -> None:
        super().__init__()
        self.project = nn.Linear(channels, dim)
        self.embedding = nn.Embedding(vocab, embed)
        self.init_h, self.init_c = nn.Linear(dim, hidden), nn.Linear(dim, hidden)
        self.att_features, self.att_hidden = nn.Linear(dim, attention), nn.Linear(hidden, attention)
        self.att = nn.Linear(attention, 1)
        self.gate = nn.Linear(hidden, 1)
        self.cell = nn.LSTMCell(embed + dim, hidden)
        self.readout = nn.Linear(hidden + dim, embed)
        self.out = nn.Linear(embed, vocab)

    def forward(self, features: Tensor, before: Tensor, target: Tensor) -> Tensor:
        a = self.project(features)
        mean = a.mean(1)
        h, c = torch.tanh(self.init_h(mean)), torch.tanh(self.init_c(mean))
        words = self.embedding(before)
        scores, alphas = [], []
        for step in range(before.shape[1]):
            energy = self.att(torch.tanh(self.att_features(a) + self.att_hidden(h).unsqueeze(1))).squeeze(2)
            alpha = torch.softmax(energy, dim=1)
            context = torch.sigmoid(self.gate(h)) * (a * alpha.unsqueeze(2)).sum(1)
            h, c = self.cell(torch.cat([words[:, step], context], 1), (h, c))
            scores.append(self.out(words[:, step] + self.readout(torch.cat([h, context], 1))))
            alphas.append(alpha)
        there = target != 0
        looked = (torch.stack(alphas, 1) * there.unsqueeze(2)).sum(1)
        nats = cross_entropy(torch.stack(scores, 1).flatten(0, 1), target.flatten(), ignore_index=0, reduction="sum")
        return (nats + ((1 - looked) ** 2).sum()) / there.sum()
