"""Exponential moving average of the weights, which usually predicts better than the last weights.

`θ̄ ← d θ̄ + (1 − d) θ`, with d rising from 0 to `decay` over the first steps, so that the random start is
soon forgotten. Polyak & Juditsky 1992; the rising d is that of Tensor2Tensor and TensorFlow.

    average = Ema(model, decay=0.999);  average.update(step);  with average.applied(): evaluate(model)
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

__all__ = ["Ema"]


class Ema:
    """The averaged copy of a model's parameters; with decay 0 it is the parameters themselves."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.live = {name: p.detach() for name, p in model.named_parameters()}
        self.mean = {name: p.clone() for name, p in self.live.items()} if decay else {}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """After a step (the first is 1)."""
        if self.mean:
            decay = min(self.decay, (1 + step) / (10 + step))
            get_ema_multi_avg_fn(decay)(list(self.mean.values()), list(self.live.values()), step)  # type: ignore[no-untyped-call]

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """The model with its averaged weights, within the block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    @torch.no_grad()
    def _swap(self) -> None:
        for name, mean in self.mean.items():
            kept: Tensor = self.live[name].clone()
            self.live[name].copy_(mean)
            mean.copy_(kept)
