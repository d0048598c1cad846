"""Small cases of estimators: an example of two inputs under two policies, its exact gradient, and estimates of it."""

import itertools
from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from regard import find
from regard.attend.estimator import Estimator, Gates
from regard.attend.reinforce import Reinforce

LENGTHS = [3, 2]  # of the two inputs of the example
TIME, POLICIES = 3, 2
f64 = torch.float64


def made(name: str, **options: Any) -> Estimator:
    part: Estimator = find.build("attend.estimator", {"name": name, **options}, size=1, samples=2)
    return part.double()


def mask_of(rows: int) -> Tensor:
    """Of `rows` rows of each input, one after the other."""
    each = torch.arange(TIME) < torch.tensor(LENGTHS)[:, None]
    return each.repeat_interleave(rows, 0)


def logits_of() -> Tensor:
    """Of each policy and input."""
    return torch.tensor([[[0.7, -1.2, 0.1], [1.5, -0.3, 9.0]], [[-0.8, 0.4, 2.0], [0.2, 0.9, 9.0]]], dtype=f64)


def reward(z: Tensor) -> Tensor:
    """Of gates `[policy, side, …, time]`; the last token of the second input is not there."""
    a, b = z[0], z[1]
    first = a[0][..., 0] * b[1][..., 1] - 2 * a[0][..., 1] * (1 - b[0][..., 2])
    return -1 + first + 1.5 * a[1][..., 0] * a[0][..., 2] ** 2 + b[1][..., 0] * b[0][..., 0] - 0.5 * a[1][..., 1] ** 3


def exact() -> Tensor:
    """∂ Σ_z p(z) R(z), all choices of the ten tokens at once."""
    logits = logits_of().requires_grad_()
    there = mask_of(1).view(2, TIME).expand(POLICIES, 2, TIME)
    choices = torch.tensor(list(itertools.product([0.0, 1.0], repeat=int(there.sum()))), dtype=f64)
    z = torch.zeros(len(choices), POLICIES, 2, TIME, dtype=f64)
    z[:, there] = choices
    p = torch.sigmoid(logits)
    chance = torch.where(there, torch.where(z > 0, p, 1 - p), 1.0).flatten(1).prod(1)
    assert_close(chance.sum(), torch.ones((), dtype=f64))
    (found,) = torch.autograd.grad((chance * reward(z.permute(1, 2, 0, 3))).sum(), logits)
    return found


def estimates(part: Estimator, batch: int, value: Any = reward) -> tuple[Tensor, Gates]:
    """An estimate for each of so many copies of the example: `[policy, side, batch, time]`."""
    copies = part.copies
    logits = logits_of()[:, :, None, None].repeat(1, 1, copies, batch, 1).flatten(1, 3).requires_grad_()
    mask = mask_of(copies * batch)
    gates = part.choose(logits, mask, sides=2, copies=copies)
    z = gates.chosen.to(f64) if gates.values is None else gates.values
    R = value(z.view(POLICIES, 2, copies * batch, TIME))
    if part.passes:
        loss = -R
    else:
        score, entropy = (one.view(POLICIES, 2, -1).sum((0, 1)) for one in (gates.score, gates.entropy))
        reinforce = Reinforce(size=1, baseline="others", samples=2).double()
        summary = torch.ones(copies * batch, 1, dtype=f64)
        loss = part.loss(score, R.detach(), reinforce, entropy=entropy, summary=summary, copies=copies)
    (slope,) = torch.autograd.grad(loss.sum() / copies, logits)
    return -slope.view(POLICIES, 2, copies, batch, TIME).sum(2), gates
