"""A step moves the weights against the mean loss, with the gradient no longer than `clip` (0: as it is)."""

import pytest
import torch
from torch import nn

from regard.train.step import step
from regard.types import Batch, Network, Output, Sequences


class Times(Network):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1, dtype=torch.float64))

    def forward(self, batch: Batch, progress: float) -> Output:
        assert progress == 0.5
        return Output((self.weight * batch.source.values).sum(), 4)


@pytest.mark.parametrize(("clip", "moved"), [(100.0, 3.0), (1.5, 1.5), (0.0, 3.0)])
def test_by_hand(clip: float, moved: float) -> None:
    """total = Σ w x over four counted tokens, Σ x = 12: the gradient is 12 / 4 = 3; SGD at rate 1 goes that far."""
    model = Times()
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    loss = step(model, Batch((Sequences.pad([[5, 7]]),)), optimiser, 0.5, clip=clip, precision="float32")
    assert loss.count == 4
    assert loss.total.item() == 0
    assert model.weight.item() == pytest.approx(-moved, abs=1e-5)
    assert model.weight.grad is None
