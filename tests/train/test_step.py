"""A step moves the weights against the mean loss, with the gradient no longer than `clip` (0: as it is). Several
batches count as one large batch."""

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_map

from generation_tasks import data, made, pairs
from regard.find import names
from regard.train.step import step
from regard.types import Batch, Network, Output, Sequences
from tiers import sweep_but


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


def test_several_batches_by_hand() -> None:
    """Σ w x over both is 12 w + 20 w, over eight counted tokens: the gradient is 32 / 8 = 4."""
    model = Times()
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    several = [Batch((Sequences.pad([[5, 7]]),)), Batch((Sequences.pad([[9, 11]]),))]
    loss = step(model, several, optimiser, 0.5, clip=0.0, precision="float32")
    assert (loss.count, loss.total.item()) == (8, 0)
    assert model.weight.item() == pytest.approx(-4.0)
    assert model.weight.grad is None


@pytest.mark.parametrize("task", sweep_but(names("tasks"), "entail", "pretrain"))
def test_several_batches_are_one_large_batch(task: str) -> None:
    """To rounding, in float64, for every task; a choice that is sampled differs, and is left out, and so is matching
    of replies, which compares those of a batch."""
    one = made(task, dropout=0.0, gamma=0.0, running=False, match_weight=0.0)
    items = one.items(data.get(task, pairs))
    moved = []
    for cut in ([items], [items[:1], items[1:]]):
        torch.manual_seed(1)
        model = one.network().double().eval()  # without dropout
        before = [parameter.detach().clone() for parameter in model.parameters()]
        batches = [one.collate(some) for some in cut]
        if task == "glimpse":
            batches = [tree_map(lambda x: x.double() if x.is_floating_point() else x, batch) for batch in batches]
        step(model, batches, torch.optim.SGD(model.parameters(), lr=1.0), 1.0, clip=0.0, precision="float32")
        moved.append([after.detach() - x for after, x in zip(model.parameters(), before, strict=True)])
    for whole, parts in zip(*moved, strict=True):
        torch.testing.assert_close(parts, whole, rtol=1e-9, atol=1e-12)
