"""Glimpses: a network that sees small patches of a picture, and learns where to look next.

At each of T steps, `l_t ~ N(tanh(W_l h_{t−1} + b_l), σ²)` says where to look, and

    g_t = ReLU(W (ReLU(W_ρ ρ(x, l_t))) + W' (ReLU(W_p l_t)))          # what was seen, and where
    h_t = ReLU(W_h h_{t−1} + W_g g_t), or an LSTM;  h_0 = 0
    p(y | x) = softmax(f_a(h_T))

Mnih et al. 2014, "Recurrent Models of Visual Attention", sections 3 and 4. Where to look has no gradient, so it is
reinforced (`regard.attend.reinforce`): the reward is 1 for a correct answer, by default, and the baseline of step t a
value head on h_{t−1}. The loss of the answer trains everything but W_l, and the reward trains W_l alone: the place is a
sample, and W_l reads h without passing a gradient back. In evaluation the place is the mean; with several `paths` the
probabilities are the mean over so many ways to look, whose places are that far from the mean as these would be drawn,
the same for every picture. One difference from the paper: the first place is learned too, as `tanh(b_l)`; there it is
drawn at random.

    network = Glimpses(labels=10, channels=1, reinforce=reinforce, reward=Correct(), glimpses=6, size=8)
    network.read(pixels).logits;  network.answer(pixels).logits;  network(batch, progress).total
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu

from regard.attend.glimpse_sensor import glimpse_sensor
from regard.attend.reinforce import Reinforce
from regard.predict.classify import ClassifyHead
from regard.predict.reward import Reward
from regard.ranges import Few, Positive, Width, ranged
from regard.types import Batch, Network, Output, Pixels, Progress, wide

__all__ = ["Glimpses", "Path"]


@dataclass(frozen=True)
class Path:
    """What came of looking at a batch of pictures."""

    logits: Float[Tensor, "batch label"]
    places: Float[Tensor, "batch glimpse 2"]
    log_prob: Float[Tensor, "batch glimpse"]  # of the places
    before: Float[Tensor, "batch glimpse state"]  # the state from which each place was chosen


class Core(nn.Module):
    """`h_t` from `h_{t−1}` and `g_t`."""

    def __init__(self, kind: Literal["relu", "lstm"], size: int) -> None:
        super().__init__()
        self.lstm = nn.LSTMCell(size, size) if kind == "lstm" else None
        self.W_h = nn.Linear(size, size) if kind == "relu" else None
        self.W_g = nn.Linear(size, size) if kind == "relu" else None

    def forward(self, g: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        if self.lstm is not None:
            return self.lstm(g, state)  # type: ignore[no-any-return]
        assert self.W_h is not None
        assert self.W_g is not None
        h = relu(self.W_h(state[0]) + self.W_g(g))
        return h, h


class Glimpses(Network):
    """Pictures → labels, by a few glimpses each."""

    @ranged
    def __init__(
        self,
        labels: int,
        channels: int,
        reinforce: Reinforce,
        reward: Reward,
        glimpses: Annotated[Few, "number of glimpses"] = 6,
        size: Annotated[Few, "pixels of each side of the smallest patch"] = 8,
        scales: Annotated[Few, "patches per glimpse, each twice as wide as the one before"] = 1,
        hidden: Annotated[Width, "units of the recurrent state"] = 256,
        seen: Annotated[Width, "units of the two layers that encode a patch and its location"] = 128,
        core: Annotated[Literal["relu", "lstm"], "recurrent core: a ReLU layer or an LSTM"] = "relu",
        sigma: Annotated[Positive, "standard deviation of the sampled locations; 1 is half the picture"] = 0.15,
        paths: Annotated[Few, "sampled paths that a prediction averages over; 1: the most likely path alone"] = 1,
    ) -> None:
        super().__init__()
        self.paths = paths
        self.glimpses, self.size, self.scales, self.sigma, self.hidden = glimpses, size, scales, sigma, hidden
        self.reinforce, self.reward = reinforce, reward
        self.W_rho = nn.Linear(scales * channels * size * size, seen)
        self.W_place = nn.Linear(2, seen)
        self.W_what, self.W_where = nn.Linear(seen, hidden), nn.Linear(seen, hidden)
        self.core = Core(core, hidden)
        self.W_l = nn.Linear(hidden, 2)
        self.head = ClassifyHead(hidden, labels, hidden=0)

    @property
    def wide(self) -> bool:
        """Half precision does not pay: small matrices, many steps."""
        return False

    def steady(self, progress: float) -> bool:
        return self.reinforce.steady(progress)

    def count(self, batch: Batch) -> int:
        """A loss is counted over pictures."""
        assert isinstance(batch.target, Tensor)
        return len(batch.target)

    def answer(self, pixels: Pixels) -> Path:
        """The label of each picture as the mean over all `paths`, and the likeliest of these."""
        likeliest = self.read(pixels)
        if self.paths == 1:
            return likeliest
        found = [torch.log_softmax(wide(likeliest.logits), -1)]
        chance = torch.Generator().manual_seed(0)  # nothing depends on which pictures are read together
        for _ in range(self.paths - 1):
            aside = torch.randn(self.glimpses, 2, generator=chance).to(likeliest.places)
            found.append(torch.log_softmax(wide(self.read(pixels, aside=aside).logits), -1))
        return replace(likeliest, logits=torch.logsumexp(torch.stack(found), 0).sub(math.log(self.paths)))

    def read(self, pixels: Pixels, sample: bool = False, aside: Float[Tensor, "glimpse 2"] | None = None) -> Path:
        """The label of each picture, and where it was looked at: at samples, at the likeliest places, or `aside` of
        them by so many standard deviations."""
        x = pixels.values.to(self.W_rho.weight.dtype)
        state = (x.new_zeros(len(x), self.hidden),) * 2
        places, log_probs, before = [], [], []
        for step in range(self.glimpses):
            h = state[0]
            mean = torch.tanh(self.W_l(h.detach()))
            far = torch.randn_like(mean) if sample else 0.0 if aside is None else aside[step]
            place = (mean + self.sigma * far).detach()
            # The density at the place, but for its constant.
            log_probs.append(-((place - mean) ** 2).sum(-1) / (2 * self.sigma**2))
            at = place.clamp(-1, 1)
            what = relu(self.W_rho(glimpse_sensor(x, at, self.size, self.scales)))
            where = relu(self.W_place(at))
            state = self.core(relu(self.W_what(what) + self.W_where(where)), state)
            places.append(at)
            before.append(h)
        logits = self.head(state[0])
        return Path(logits, torch.stack(places, 1), torch.stack(log_probs, 1), torch.stack(before, 1))

    def forward(self, batch: Batch, progress: Progress = 1.0) -> Output:
        """The cross entropy of the labels and, in training, what teaches where to look."""
        copies, count = self.reinforce.copies if self.training else 1, self.count(batch)
        if copies > 1:
            batch = batch.repeat(copies)
        assert isinstance(batch.target, Tensor)
        path = self.read(batch.source, sample=self.training)
        nats = self.head.loss(path.logits, batch.target)
        total, earned = nats.sum(), self.reward(path.logits.detach(), batch.target)
        if self.training:
            # Each step of each picture stands for itself: all have the reward of the end, and a baseline of their own.
            rewards, before = earned.repeat_interleave(self.glimpses), path.before.flatten(0, 1)
            total = total + self.reinforce(path.log_prob.flatten(), rewards, before, copies=copies).sum()
        return Output(total / copies, count, {"reward": earned.mean()}, nats.detach().sum() / copies)
