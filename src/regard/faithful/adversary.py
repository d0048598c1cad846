"""Other weights for the same predictions: shuffled ones, and the most different ones that keep the prediction.

    shuffled      TV(p(a), p(π a)) for random orders π of the tokens
    adversarial   max_b JS(a, b)  subject to  TV(p(a), p(b)) ≤ ε

Jain & Wallace 2019, "Attention is not Explanation", sections 4.2.1 and 4.2.2. As there, Adam climbs
`JS − λ max(0, TV − ε)` from several starts. Weights are `b ∝ a exp(z)`, so that heads, rows or features of a group move
together and z = 0 gives the model's own weights. Candidates are the best weights on the way, the last ones, single
tokens, and `a` with one token's weight given to another. Each is then pulled back on the straight line to `a` until
TV ≤ ε. So the result always keeps to ε and is a lower bound: a larger JS may exist. JS is of the mean over a group.

Every case has random numbers of its own: its neighbours in the batch do not matter.
"""

import math
from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from regard.faithful.measures import LEAST, jensen_shannon, total_variation
from regard.faithful.probe import Probe

__all__ = ["adversarial", "shuffled"]

ROOM = 2**23  # numbers in one call of `answer`
STARTS, STEPS, RATE, LAMBDA = 6, 200, 0.3, 10.0
HALVINGS = 12
PAIRED = 5  # tokens among which one gives its weight to another
ALONE = 32  # most single tokens to try: those with the least weight


@torch.no_grad()
def shuffled(probe: Probe, shuffles: int, seeds: Sequence[Sequence[int]]) -> Float[Tensor, "case shuffle"]:
    """How far each prediction moves under random orders of its weights."""
    cases, _, keys = probe.weights.shape
    orders = np.tile(np.arange(keys), (cases, shuffles, 1))
    for case, seed in enumerate(seeds):
        length = int(probe.mask[case].sum())
        orders[case, :, :length] = np.random.default_rng(seed).random((shuffles, length)).argsort(-1)
    index = torch.from_numpy(orders).to(probe.weights.device)
    return _moved(probe, lambda some: _reordered(probe.weights, index[:, some]), shuffles)


def _reordered(
    weights: Float[Tensor, "case group key"], order: Int[Tensor, "case many key"]
) -> Float[Tensor, "case many group key"]:
    shape = (*order.shape[:2], *weights.shape[1:])
    return weights.unsqueeze(1).expand(shape).gather(-1, order.unsqueeze(2).expand(shape))


def _moved(probe: Probe, made: Callable[[slice], Tensor], many: int) -> Float[Tensor, "case many"]:
    """TV of the predictions under many weights, made some at a time."""
    cases, group, keys = probe.weights.shape
    step = max(1, ROOM // (cases * max(group * keys, probe.p.shape[-1])))
    parts = [
        total_variation(probe.answer(made(slice(first, first + step))), probe.p.unsqueeze(1))
        for first in range(0, many, step)
    ]
    return torch.cat(parts, 1)


def adversarial(
    probe: Probe, epsilon: float, seeds: Sequence[Sequence[int]], starts: int = STARTS, steps: int = STEPS
) -> tuple[Float[Tensor, " case"], Float[Tensor, " case"]]:
    """The largest divergence found for each case, and how far its prediction moved."""
    reached = _climbed(probe, epsilon, seeds, starts, steps)
    with torch.no_grad():
        far = torch.cat([reached, _alone(probe.weights, probe.mask), _moves(probe.weights, probe.mask)], 1)
        return _pulled_back(probe, far, epsilon)


def _alone(
    weights: Float[Tensor, "case group key"], mask: Bool[Tensor, "case key"]
) -> Float[Tensor, "case some group key"]:
    """All weight on one token, for the tokens with the least weight; with fewer tokens some come twice."""
    a = weights.mean(1)
    order = a.masked_fill(~mask, math.inf).argsort(stable=True, dim=-1)[:, : min(ALONE, a.shape[-1])]
    there = mask.gather(1, order)
    order = torch.where(there, order, order[:, :1])
    found = one_hot(order, a.shape[-1]).to(a.dtype)
    return found.unsqueeze(2).expand(-1, -1, weights.shape[1], -1)


def _moves(
    weights: Float[Tensor, "case group key"], mask: Bool[Tensor, "case key"]
) -> Float[Tensor, "case some group key"]:
    """The model's own weights, with all weight of one token given to another, among the tokens with the most."""
    most = weights.mean(1).topk(min(PAIRED, weights.shape[-1]), -1).indices
    pairs = list(permutations(range(most.shape[-1]), 2))
    giver, taker = (most[:, [pair[side] for pair in pairs]] for side in (0, 1))
    taker = torch.where(mask.gather(1, taker), taker, giver)  # nothing is given to padding
    keys = weights.shape[-1]
    given = weights.gather(-1, giver.unsqueeze(1).expand(-1, weights.shape[1], -1)).transpose(1, 2).unsqueeze(-1)
    change = (one_hot(taker, keys) - one_hot(giver, keys)).to(weights.dtype).unsqueeze(2)
    return (weights.unsqueeze(1) + given * change).clamp(min=0.0)


def _climbed(
    probe: Probe, epsilon: float, seeds: Sequence[Sequence[int]], starts: int, steps: int
) -> Float[Tensor, "case start group key"]:
    """Weights that gradient ascent reaches; half of the starts are near the model's own, half anywhere."""
    weights, mask = probe.weights, probe.mask
    cases, _, keys = weights.shape
    logs = weights.clamp(min=LEAST).log().unsqueeze(1)
    a = weights.mean(1).unsqueeze(1)
    noise = np.zeros((cases, starts, keys), dtype=np.float32)
    for case, seed in enumerate(seeds):
        length = int(mask[case].sum())
        noise[case, :, :length] = np.random.default_rng([*seed, 1]).standard_normal((starts, length))
    z = torch.from_numpy(noise).to(weights.device)
    anywhere = torch.arange(starts, device=z.device)[:, None] % 2 == 1
    z = torch.where(anywhere, 2 * z - a.clamp(min=LEAST).log(), 0.1 * z).requires_grad_()
    hidden = ~mask[:, None, None]

    def normalized(z: Tensor) -> Tensor:
        scores = (logs + z.unsqueeze(2)).masked_fill(hidden, torch.finfo(z.dtype).min)
        return torch.softmax(scores, -1).masked_fill(hidden, 0.0)

    climb = torch.optim.Adam([z], lr=RATE, betas=(0.9, 0.95), maximize=True)
    best, kept = torch.full(z.shape[:2], -1.0, device=z.device), torch.zeros_like(z)  # z = 0: the model's own
    for step in range(steps):
        climb.param_groups[0]["lr"] = RATE * (1 - step / steps)  # smaller and smaller: the best are at the edge of ε
        b = normalized(z)
        tv = total_variation(probe.answer(b), probe.p.unsqueeze(1))
        js = jensen_shannon(a, b.mean(2))
        better = (tv <= epsilon) & (js > best)
        best, kept = torch.where(better, js, best).detach(), torch.where(better.unsqueeze(-1), z.detach(), kept)
        gain = js - LAMBDA * (tv - epsilon).clamp(min=0.0)
        [z.grad] = torch.autograd.grad(gain.sum(), z)
        climb.step()
    return torch.cat([normalized(z.detach()), normalized(kept)], 1)


def _pulled_back(
    probe: Probe, far: Float[Tensor, "case many group key"], epsilon: float
) -> tuple[Float[Tensor, " case"], Float[Tensor, " case"]]:
    """The farthest point of each line from the model's own weights where TV ≤ ε, and the best of these."""
    own = probe.weights.unsqueeze(1)
    low, high = torch.zeros(far.shape[:2], device=far.device), torch.ones(far.shape[:2], device=far.device)
    kept, t = torch.zeros_like(low), high
    for _ in range(HALVINGS + 1):

        def at(some: slice, t: Tensor = t) -> Tensor:
            return torch.lerp(own, far[:, some], t[:, some, None, None])

        tv = _moved(probe, at, far.shape[1])
        fits = tv <= epsilon
        low, high, kept = torch.where(fits, t, low), torch.where(fits, high, t), torch.where(fits, tv, kept)
        t = torch.where(low == 1, low, 0.5 * (low + high))
    b = torch.lerp(own, far, low[..., None, None]).mean(2)
    js = jensen_shannon(own.mean(2), b).clamp(0.0, math.log(2))
    best = js.argmax(1, keepdim=True)
    return js.gather(1, best).squeeze(1), kept.gather(1, best).squeeze(1)
