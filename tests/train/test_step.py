"""A step moves the weights against the mean loss, with the gradient no longer than `clip` (0: as it is)."""

from unittest.mock import MagicMock

import pytest
import torch
from torch import nn

from regard.train.step import step
from regard.train.task import Loss
from regard.types import Batch, Sequences


@pytest.mark.parametrize(("clip", "moved"), [(100.0, 3.0), (1.5, 1.5), (0.0, 3.0)])
def test_by_hand(clip: float, moved: float) -> None:
    """total = Σ w x over four counted tokens, Σ x = 12: the gradient is 12 / 4 = 3; SGD at rate 1 goes that far."""
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.zeros_(model.weight)
    task = MagicMock()
    task.loss = lambda model, batch: Loss(model(batch.source.values.double().reshape(-1, 1)).sum(), 4)
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    loss = step(task, model, Batch((Sequences.pad([[5, 7]]),)), optimiser, clip=clip, precision="float32")
    assert loss.count == 4
    assert loss.total.item() == 0
    assert model.weight.item() == pytest.approx(-moved, abs=1e-5)
    assert model.weight.grad is None
