"""Picking a word: by hand, and words that cannot be picked."""

import math

import pytest
import torch

from regard.predict.pick import LEAST, nats, pick


def test_by_hand() -> None:
    weights = torch.tensor([[0.5, 0.125, 0.25, 0.125]])
    groups = torch.tensor([[0, 1, 0, -1]])
    assert pick(weights, groups).tolist() == [[0.75, 0.125, 0.0, 0.0]]
    assert pick(weights, groups, words=2).tolist() == [[0.75, 0.125]]


def test_the_loss() -> None:
    chances = torch.tensor([[0.75, 0.25, 0.0]] * 3)
    found = nats(chances, torch.tensor([0, 2, -1])).tolist()
    assert found == pytest.approx([-math.log(0.75), -math.log(LEAST), -math.log(LEAST)])


def test_gradients() -> None:
    weights = torch.rand(2, 4, dtype=torch.float64, requires_grad=True)
    groups = torch.tensor([[0, 1, 0, -1], [0, 0, 0, 0]])
    assert torch.autograd.gradcheck(lambda w: nats(pick(w, groups), torch.tensor([0, 0])), weights)
