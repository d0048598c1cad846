"""What the tests of DiSAN and ReSAN share: three sentences, and the equations written out with loops."""

import torch
from torch import Tensor

from regard.encode.disan import Disan, Two
from regard.types import Sequences

lengths = [4, 1, 6]


def sequences(values: Tensor, counts: list[int]) -> Sequences:
    found = torch.tensor(counts)
    return Sequences(values, torch.arange(values.shape[1])[None, :] < found[:, None], found)


def linear(layer: Two, way: int, x: Tensor) -> Tensor:
    return x @ layer.weight[way] + layer.bias[way, 0]


def elu(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, x.exp() - 1)


def by_hand(part: Disan, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`[u_fw; u_bw]`, what was seen `s` and the weights `[way, head, dependent, feature]` of one sentence."""
    time, hidden = len(words), part.size // 2
    states, seen, weights = [], [], torch.zeros(2, time, time, hidden).double()
    for way in (0, 1):
        h = [elu(linear(part.W, way, x)) for x in words]
        both = [linear(part.W_attend, way, one) for one in h]
        q, k = [one[:hidden] for one in both], [one[hidden:] for one in both]
        s = [torch.zeros(hidden).double() for _ in words]
        for j in range(time):
            there = range(j) if way == 0 else range(j + 1, time)
            for f in range(hidden):
                if len(there) == 0:
                    continue
                e = torch.stack([part.c * torch.tanh((q[j][f] + k[i][f]) / part.c) for i in there])
                a = e.exp() / e.exp().sum()
                weights[way, j, list(there), f] = a.detach()
                s[j] = s[j] + torch.eye(hidden)[f] * sum(a[n] * h[i][f] for n, i in enumerate(there))
        F = [torch.sigmoid(linear(part.W_gate, way, torch.cat([s[j], h[j]]))) for j in range(time)]
        states.append(torch.stack([F[j] * h[j] + (1 - F[j]) * s[j] for j in range(time)]))
        seen.append(torch.stack(s))
    return torch.cat(states, -1), torch.stack(seen), weights
