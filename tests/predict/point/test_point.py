"""Pointers: the best spans against all of them, padding, gradients, and −log p by hand."""

import math
from typing import Any

import pytest
import torch

from regard.find import build, names
from regard.predict.point import Pointed, hidden, nats, spans


@pytest.mark.parametrize("longest", [1, 3, 20])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_spans_by_brute_force(longest: int, seed: int) -> None:
    torch.manual_seed(seed)
    start, end = torch.randn(2, 2, 7, dtype=torch.float64)
    mask = torch.tensor([[True] * 7, [True, True, False, True, True, False, False]])
    found = spans(start, end, mask, longest, count=4)
    for row in range(2):
        every = [
            (float(start[row, i] + end[row, j]), [i, j])
            for i in range(7)
            for j in range(i, min(i + longest, 7))
            if mask[row, i] and mask[row, j]
        ]
        every.sort(reverse=True)
        real = found.scores[row] > -math.inf
        assert found.scores[row][real].tolist() == pytest.approx([score for score, _ in every[:4]])
        assert found.places[row][real].tolist() == [place for _, place in every[:4]]
        assert float(found.total[row]) == pytest.approx(math.log(sum(math.exp(score) for score, _ in every)))


def test_the_loss_by_hand() -> None:
    """Of two positions with scores ln 3 and 0 the first has 3/4; at the second turn all are even."""
    start = torch.tensor([[[math.log(3), 0.0], [0.0, 0.0]]])
    found = nats(Pointed(start, start.flip(2), torch.zeros(1, 2, 2, dtype=torch.long)), torch.tensor([[[0, 0]]]))
    assert found[0].tolist() == pytest.approx([-math.log(3 / 4) - math.log(1 / 4), -2 * math.log(1 / 2)])


def test_several_places_are_right() -> None:
    """Starts 1/2, 1/3 and 1/6, ends the other way round: p = 1/2 · 1/6 + 1/3 · 1/3 of the first two; of the first alone
    1/12."""
    start = torch.tensor([[[3.0, 2.0, 1.0]]]).log().expand(2, -1, -1)
    found = Pointed(start, start.flip(2), torch.zeros(2, 1, 2, dtype=torch.long))
    each = nats(found, torch.tensor([[[0, 0], [1, 1]], [[0, 0], [-1, -1]]]))
    assert each[:, 0].tolist() == pytest.approx([-math.log(1 / 12 + 1 / 9), -math.log(1 / 12)])


def test_what_is_hidden_is_lowest() -> None:
    found = hidden(torch.tensor([[1.0, 2.0]]), torch.tensor([[True, False]]))
    assert found.argmax() == 0
    assert torch.isfinite(found).all()


@pytest.mark.parametrize("garbage", [5.0, math.nan])
@pytest.mark.parametrize("name", names("predict.point"))
def test_padding_changes_nothing(name: str, garbage: float) -> None:
    torch.manual_seed(1)
    one: Any = build("predict.point", name, inputs=3).double().eval()
    values = torch.randn(2, 5, 3, dtype=torch.float64)
    lengths = torch.tensor([5, 2])
    mask = torch.arange(5) < lengths[:, None]
    wide = torch.full((2, 8, 3), garbage, dtype=torch.float64)
    wide[:, :5][mask] = values[mask]
    found = one(wide, torch.arange(8) < lengths[:, None])
    for row, length in enumerate(lengths):
        alone = one(values[row : row + 1, :length], mask[row : row + 1, :length])
        torch.testing.assert_close(found.start[row, :, :length], alone.start[0])
        torch.testing.assert_close(found.end[row, :, :length], alone.end[0])
        assert torch.equal(found.path[row], alone.path[0])


@pytest.mark.parametrize("name", names("predict.point"))
def test_gradients(name: str) -> None:
    torch.manual_seed(1)
    options = {"hidden": 2, "pool": 2, "turns": 2} if name == "dynamic" else {}
    one: Any = build("predict.point", {"name": name, **options}, inputs=3).double().train()
    mask = torch.tensor([[True, True, True], [True, True, False]])
    target = torch.tensor([[[0, 2], [-1, -1]], [[1, 1], [0, 1]]])
    values = torch.randn(2, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: nats(one(x, mask), target), values)
